// Metered sessions: wired to the vendors' scripts, to the jobs that they are, and to the clock.

import type { Jobs } from "../actions/jobs/jobs.ts";
import { openSessions, type Sessions } from "../actions/sessions/sessions.ts";
import { pause, systemClock } from "../core/clock.ts";
import type { KernelDeps } from "../kernel/deps.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { OpenCatalog } from "./open-catalog.ts";
import type { Stores } from "./stores.ts";

export interface OpenSessionsParts {
  readonly stores: Stores;
  readonly catalog: OpenCatalog;
  readonly upstream: Upstream;
  /** Asked at each call: the jobs are made after the actions that launch them. */
  readonly jobs: () => Jobs;
  readonly onBroken: KernelDeps["onBroken"];
}

export function openGatewaySessions({ stores, catalog, upstream, jobs, onBroken }: OpenSessionsParts): Sessions {
  const { ledger, records } = stores;
  return openSessions({
    records,
    ledger,
    clock: systemClock,
    jobs,
    adapter: (id, sandbox) => catalog.current().adapters({ sandbox }).get(id) ?? null,
    vendorScript: (script, order) => upstream.vendorScript(script, order),
    wait: pause,
    onBroken,
  });
}
