// Launches as the complete kernel makes them: announced, held, answered and handed over, or undone if one of these fails.

import type { Jobs } from "../../../src/actions/jobs/jobs.ts";
import { jobIdOf } from "../../../src/core/ids.ts";
import { ZERO } from "../../../src/core/money.ts";
import type { Ended } from "../../../src/core/plan.ts";
import type { Candidate } from "../../../src/core/route.ts";
import type { Stores } from "../../../src/gateway/stores.ts";
import { execute } from "../../../src/kernel/execute.ts";
import { LedgerFunds } from "../../../src/kernel/ledger-funds.ts";
import { retrying } from "../../../src/kernel/routes/retrying.ts";
import { WholeAnswer } from "../../../src/kernel/whole-answer.ts";
import { CALLER, planOver, READING, scriptedDeps } from "../../support/scripted-plan.ts";
import { BUDGET, HOLD_LEASE_MS, type Work } from "./stage.ts";

/** Answers every launch immediately. */
const ANSWERING: Candidate = {
  provider: "tollgate",
  model: "core/stepping",
  healthKey: "tollgate",
  firstTokenMsMax: 1_000,
  lastFirstTokenMsMax: 1_000,
  readOnMsMax: 0,
  pointlessAfter: () => false,
  open(sink) {
    queueMicrotask(() => sink.done({ kind: "body", body: { status: "queued" } }));
    return { pause() {}, resume() {}, abort() {}, reading: () => READING, accepted: () => true };
  },
};

export interface Launch {
  readonly jobId: string;
  readonly ended: Ended;
  /** The answer said that the job runs. */
  readonly told: boolean;
}

/** Launches the job of `tx_<name>`; `leaseMs`: the lifetime of its hold before the first renewal. */
export async function launchThroughKernel(
  stores: Pick<Stores, "ledger" | "records">,
  { keeper }: Jobs,
  name: string,
  {
    leaseMs = HOLD_LEASE_MS,
    broken = [],
    work = { job: "stepping", start: { name }, amountNano: BUDGET },
  }: { readonly leaseMs?: number; readonly broken?: unknown[]; readonly work?: Work } = {},
): Promise<Launch> {
  const id = `tx_${name}`;
  const jobId = jobIdOf(id);
  const deps = { ...scriptedDeps({ stores, lines: [], broken }), keeper };
  const { plan } = planOver([ANSWERING], {
    asked: "core/stepping",
    operation: "run",
    streamed: false,
    inference: false,
    quote: { nano: work.amountNano, tighten: null, affordable: () => ({}), upstreamNano: () => ZERO },
    hold: {
      kind: "kept",
      owner: `job:${jobId}` as const,
      leaseMs,
      onExpire: "void",
      job: work.job,
      action: `core/${work.job}`,
      start: work.start,
      sandboxFault: null,
    },
    route: retrying(ANSWERING),
    cost: () => ({ chargeNano: ZERO, upstreamNano: ZERO, usage: null, estimated: false, priceVersion: "1" }),
  });
  const funds = new LedgerFunds(deps, CALLER, { requestId: `req_${name}`, rateLimit: { learn() {} } });
  const { payer } = CALLER;
  const reader = new WholeAnswer();
  const run = { id, payer, funds, parent: null, signal: null, deadlineMs: null, reader };
  const ended = await execute(plan, run, deps);
  return { jobId, ended, told: ended.error === null };
}
