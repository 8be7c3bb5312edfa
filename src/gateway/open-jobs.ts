// Jobs, and the running of actions that they are made of.

import type { JobKind } from "../catalog/job-kind.ts";
import { systemClock } from "../clock.ts";
import { createJobs, type Jobs } from "../jobs/jobs.ts";
import type { KernelDeps } from "../kernel/deps.ts";
import { KEPT_LEASE_MS } from "../run/action-plan.ts";
import type { RunDeps } from "../run/deps.ts";
import { openRun } from "../run/inner-calls.ts";
import type { Stores } from "../stores.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { OpenActions } from "./open-actions.ts";

/** Whoever has not said for so long that it lives has died, and its jobs go to others. */
const RUNNER_LEASE_MS = 20_000;

export interface OpenJobsParts {
  readonly keptBytesMax: number;
  readonly stores: Stores;
  readonly kinds: readonly JobKind[];
  /** This process. */
  readonly owner: string;
  readonly actionCatalog: OpenActions;
  readonly upstream: Upstream;
  readonly onBroken: KernelDeps["onBroken"];
}

export interface OpenJobs {
  readonly jobs: Jobs;
  readonly kernel: KernelDeps;
  readonly run: RunDeps;
}

/** Nothing runs before `jobs.start`. */
export function openJobs(parts: OpenJobsParts): OpenJobs {
  const { stores, kinds, owner, actionCatalog, upstream, onBroken, keptBytesMax } = parts;
  const { ledger, records, shared } = stores;
  const clock = systemClock;
  // Running an action may leave a job behind, and a job runs actions.
  const innerCalls: RunDeps["innerCalls"] = (outer) => run.innerCalls(outer);
  const jobs = createJobs({
    ledger,
    records,
    clock,
    kinds,
    self: owner,
    shared,
    runnerLeaseMs: RUNNER_LEASE_MS,
    holdLeaseMs: KEPT_LEASE_MS,
    innerCalls,
    onBroken,
  });
  const { health } = upstream;
  const kernel: KernelDeps = { clock, records, keptBytesMax, health, keeper: jobs.keeper, onBroken };
  const run = openRun({
    actionCatalog: actionCatalog.actionCatalog,
    upstream,
    records,
    kernel,
    keepBytes: actionCatalog.files.keepBytes,
  });
  return { jobs, kernel, run };
}
