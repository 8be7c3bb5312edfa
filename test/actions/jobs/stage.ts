// Jobs over real stores, with calls that a test can observe, and launches as the kernel makes them.

import { Jobs, type JobsOptions } from "../../../src/actions/jobs/jobs.ts";
import type { JobKind, RunningJob } from "../../../src/catalog/job-kind.ts";
import type { InnerCalls, WantedCall } from "../../../src/catalog/local-action.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { jobIdOf } from "../../../src/core/ids.ts";
import { type Nano, nano, ZERO } from "../../../src/core/money.ts";
import type { AccountPayer, KeptHoldSpec } from "../../../src/core/plan.ts";
import type { Leg } from "../../../src/core/route.ts";
import type { Stores } from "../../../src/gateway/stores.ts";
import type { CountedCalls, OuterCall } from "../../../src/kernel/inner-call.ts";
import type { Spending } from "../../../src/kernel/parent-funds.ts";
import { createWindows } from "../../../src/kernel/windows.ts";
import { CENT } from "../../money/ledger/requests.ts";

export const ACCOUNT = "ada";
export const PAYER: AccountPayer = {
  id: `acct:${ACCOUNT}`,
  accountId: ACCOUNT,
  keyId: `${ACCOUNT}.key`,
  sandbox: false,
};
export const BUDGET = nano(10 * CENT);
export const HOLD_LEASE_MS = 1_800_000;
const WANTED = { action: "acme/step", params: {} };

/** The calls that jobs made, across all processes of a test. */
export type Asked = { readonly jobId: string; readonly by: string }[];

/** Calls that always succeed, at one cent each unless `costOf` says otherwise, and are logged. */
export function callsOf(
  outer: OuterCall,
  by: string,
  asked: Asked,
  costOf: (wanted: WantedCall) => Nano = () => nano(CENT),
): CountedCalls {
  const legs: Leg[] = [...outer.legs];
  const callBy = (spend: Spending) => async (wanted: WantedCall) => {
    const id = `${outer.id}.${legs.length + 1}`;
    const costNano = costOf(wanted);
    if (!spend.setAside(costNano)) return { ok: false, id, error: new GatewayError("over_budget"), ms: 0 } as const;
    asked.push({ jobId: jobIdOf(outer.id), by });
    spend.settle(costNano, costNano);
    const leg = { provider: "acme", model: WANTED.action, status: 200, failure: null, ms: 1, firstTokenMs: null };
    legs.push({ ...leg, upstreamNano: nano(7) });
    return { ok: true, id, action: WANTED.action, provider: "acme", data: null, isMiss: false, ms: 1 } as const;
  };
  const chat: CountedCalls["chat"] = async () => {
    throw new Error("no job of a test asks a model");
  };
  const speak: CountedCalls["speak"] = async () => {
    throw new Error("no job of a test speaks");
  };
  const paidBy = (spend: Spending) => {
    const call = callBy(spend);
    return { call, race: () => call(WANTED), own: ownWork, chat, speak };
  };
  return { ...paidBy(outer.spend), legs: () => legs, ended: async () => legs, paidBy };
}

/** A job's own work, without a leg here. */
const ownWork: InnerCalls["own"] = async ({ run }) => ({ id: null, done: await run() });

/** Takes `steps` steps, each a call and a save, and waits at each for what the test specifies. Charges one cent a step. */
export function stepping(steps: number, before: (job: RunningJob, step: number) => Promise<void> | void): JobKind {
  return {
    name: "stepping",
    msMax: 60_000,
    counted: "price",
    async run(job) {
      let done = Number(job.progress ?? 0);
      while (done < steps && !job.signal.aborted) {
        await before(job, done);
        await job.call(WANTED);
        done += 1;
        await job.save(done);
      }
      const status = done > 0 ? "succeeded" : "failed";
      return { status, result: { done }, chargeNano: nano(done * CENT) };
    },
  };
}

/** The parameters of a launch. */
export interface Work {
  readonly job: string;
  readonly start: unknown;
  readonly amountNano: Nano;
}

export interface JobsStage {
  readonly jobs: Jobs;
  /** Launches a job as the kernel does; returns its id. */
  launch(name: string, keyId?: string, work?: Work): Promise<string>;
}

/** The jobs of one process over these stores. */
export function openJobs(
  stores: Pick<Stores, "ledger" | "records" | "shared">,
  self: string,
  kinds: readonly JobKind[],
  more: Partial<JobsOptions> & { readonly asked?: Asked; readonly broken?: unknown[] } = {},
): JobsStage {
  const { asked = [], broken = [], ...options } = more;
  const { ledger, records, shared } = stores;
  const jobs = new Jobs({
    ledger,
    records,
    windows: createWindows(null),
    observer: { unpaid() {} },
    shared,
    clock: systemClock,
    kinds,
    self,
    runnerLeaseMs: 2_000,
    holdLeaseMs: HOLD_LEASE_MS,
    innerCalls: (outer) => callsOf(outer, self, asked),
    onBroken: (error) => void broken.push(error),
    ...options,
  });
  return {
    jobs,
    async launch(name, keyId = PAYER.keyId, work = { job: "stepping", start: { name }, amountNano: BUDGET }) {
      const { job, start, amountNano } = work;
      const holdId = `tx_${name}`;
      const spec: KeptHoldSpec = {
        kind: "kept",
        owner: `job:${jobIdOf(holdId)}`,
        leaseMs: HOLD_LEASE_MS,
        onExpire: "void",
        job,
        action: `core/${job}`,
        start,
        sandboxFault: null,
        chain: { firstId: holdId, keyId, asked: "core/stepping", slots: [], onExpire: "void" },
      };
      const refusal = await jobs.keeper.announce(holdId, spec, PAYER);
      if (refusal !== null) throw refusal;
      const held = await ledger.reserve({
        accountId: ACCOUNT,
        holdId,
        keyId,
        parentId: null,
        amountNano,
        slots: [],
        inference: false,
        windows: [],
        owner: spec.owner,
        leaseMs: spec.leaseMs,
        onExpire: spec.onExpire,
        requestId: `req_${name}`,
        operation: "run",
        asked: "core/stepping",
        effect: "read",
        idempotency: null,
        nowMs: Date.now(),
      });
      if (held.outcome !== "held") throw new Error(`not held: ${held.outcome}`);
      await jobs.keeper.takeOver({ id: holdId, amountNano }, spec);
      return jobIdOf(holdId);
    },
  };
}

/** An account's spent and held amounts, in cents. */
export async function moneyOf({ ledger }: Pick<Stores, "ledger">): Promise<{ spent: number; held: number }> {
  const account = await ledger.account(ACCOUNT);
  return { spent: (account?.spentNano ?? ZERO) / CENT, held: (account?.heldNano ?? ZERO) / CENT };
}
