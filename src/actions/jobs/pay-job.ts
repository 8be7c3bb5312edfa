// Charges a job's hold when the job ends, or when a longer job moves to its next hold. The charge counts on the day of the hold. Idempotent.
import type { JobEnd, NotHeld, Stopped } from "../../catalog/job-kind.ts";
import { requestIdOf } from "../../core/ids.ts";
import { add, ZERO } from "../../core/money.ts";
import type { AccountPayer } from "../../core/plan.ts";
import { costBeside, costOf, postedLegs, upstreamOf } from "../../kernel/legs.ts";
import type { ReserveOutcome, ReserveRequest } from "../../money/ledger/model/ledger.ts";
import type { JobsDeps } from "./deps.ts";
import type { JobRecord } from "./job-record.ts";

interface PayDeps extends Pick<JobsDeps, "ledger" | "passedMark"> {
  readonly observer: Pick<JobsDeps["observer"], "unpaid">;
}

/** Returns the cents charged; null where the hold had ended already, so that the job's work stays unpaid. */
export async function payJob(job: JobRecord, deps: PayDeps): Promise<number | null> {
  const { hold, end, isUnheld, chain } = job;
  if (isUnheld === true) return 0;
  if (end === null || (end.chargeNano === ZERO && (end.status === "failed" || chain !== undefined))) {
    // The launch was answered; a repeat under its Idempotency-Key gets that answer.
    const upstreamNano = add(costOf(job.legs), end?.served?.upstreamNano ?? ZERO);
    const { outcome } = await deps.ledger.void(hold, "the job failed", { keyFate: "answered", upstreamNano });
    if (outcome === "voided" && !job.payer.sandbox) deps.observer.unpaid(ZERO, upstreamNano);
    return 0;
  }
  return postHold(job, end, deps);
}

async function postHold(
  { hold, legs, kind, action = kind, payer, tags = [] }: JobRecord,
  { chargeNano, served }: Pick<JobEnd, "chargeNano" | "served">,
  { ledger, observer, passedMark }: PayDeps,
): Promise<number | null> {
  const ofServed = served?.upstreamNano ?? ZERO;
  const posted = await ledger.post({
    ...hold,
    amountNano: chargeNano,
    upstreamNano: add(upstreamOf(legs), ofServed),
    absorbReason: "usage_above_hold",
    provider: served?.provider ?? "tollgate",
    served: served?.action ?? action,
    usage: served?.usage ?? null,
    estimated: false,
    priceVersion: kind,
    legs: served?.legs ?? postedLegs(legs),
    beside: costBeside(legs),
    tags,
    decided: true,
  });
  if (posted.outcome !== "posted" && posted.outcome !== "spooled") return null;
  if (posted.marked === true && payer.runId !== undefined) passedMark?.(hold.accountId, payer.runId);
  const isRepeat = posted.outcome === "posted" && posted.repeat;
  if (!isRepeat && !payer.sandbox) observer.unpaid(posted.chargedNano, add(costOf(legs), ofServed));
  return posted.chargedCents;
}

export const STOPPED = {
  unknown_key: "key_revoked",
  paused: "key_paused",
  frozen: "account_frozen",
} as const satisfies Record<string, Stopped>;

export function notHeld(outcome: string): NotHeld {
  return outcome in STOPPED ? STOPPED[outcome as keyof typeof STOPPED] : "no_money";
}

const PLACED: readonly ReserveOutcome["outcome"][] = ["held", "exists"];

/** Returns the changes to record, and why no hold could be placed. Rejects where the store is away; nothing is lost then. */
export async function succeedHold(
  job: JobRecord,
  deps: Pick<JobsDeps, "ledger" | "clock" | "holdLeaseMs" | "windows" | "observer" | "passedMark">,
): Promise<{ readonly changes: Partial<JobRecord>; readonly refused: NotHeld | null }> {
  const { ledger, clock, holdLeaseMs, windows } = deps;
  const { chain, succeeding, hold, payer, tags = [] } = job;
  if (chain === undefined || !succeeding) throw new Error(`the job ${job.id} has one hold`);
  const { chargeNano, served, nextId, nextNano } = succeeding;
  const cents = job.isUnheld === true ? 0 : ((await postHold(job, { chargeNano, served }, deps)) ?? 0);
  const posted = {
    succeeding: null,
    chargedCents: job.chargedCents + cents,
    posted: { holds: (job.posted?.holds ?? 0) + 1, nano: add(job.posted?.nano ?? ZERO, chargeNano) },
  };
  const nowMs = clock.epochMs();
  // The record keeps the payer without its key.
  const keyed = { ...payer, accountId: hold.accountId, keyId: chain.keyId } as AccountPayer;
  const { accountId } = hold;
  const next: ReserveRequest = {
    accountId,
    holdId: nextId,
    keyId: chain.keyId,
    parentId: chain.firstId,
    amountNano: nextNano,
    slots: chain.slots.map((slot) => ({ ...slot, max: slot.max * 2 })),
    inference: chain.inference === true,
    windows: await windows.goingOn(keyed, tags),
    owner: `job:${job.id}`,
    leaseMs: holdLeaseMs,
    onExpire: chain.onExpire,
    requestId: requestIdOf(chain.firstId),
    operation: chain.operation ?? "run",
    asked: chain.asked,
    effect: "write",
    idempotency: null,
    nowMs,
  };
  let { outcome, ...rest } = await ledger.reserve(next);
  if (outcome === "unknown_key" && job.isUnheld === true) {
    // Its last hold ended without it, so work is owed: the account's first key, which is never revoked, pays for a revoked one.
    const [first] = await ledger.keys(accountId, { limit: 1, after: null });
    ({ outcome, ...rest } = await ledger.reserve({ ...next, keyId: first?.keyId ?? chain.keyId }));
  }
  const isPlaced = PLACED.includes(outcome) && !("state" in rest && rest.state !== "held");
  if (isPlaced) {
    const placed = { hold: { ...hold, holdId: nextId }, amountNano: nextNano, heldSinceMs: Math.floor(nowMs) };
    return { changes: { ...posted, ...placed, isUnheld: false }, refused: null };
  }
  // The store's clock is in doubt: nothing can be placed now, so the caller retries.
  if (outcome === "clock_skew") throw new Error("the clocks of the store and of this process differ");
  return { changes: { ...posted, isUnheld: true }, refused: notHeld(outcome) };
}
