// Ends a hold in exactly one post or void. It never throws: a ledger that is away leaves the hold to its lease.

import type { KeyFate } from "../ledger/model/ledger.ts";
import { minus, ZERO } from "../money.ts";
import type { RequestRecord } from "../observe/record.ts";
import type { Charge, Cost, FinalPart, Payer, Plan } from "../plan.ts";
import type { PipelineDeps } from "./deps.ts";
import type { Dispatched } from "./dispatch.ts";
import { failureError } from "./failure-error.ts";
import { isDeterministic, keepAnswer, keepRefusal } from "./replay.ts";
import type { Hold } from "./reserve.ts";

/** What became of the money. `unsettled`: the ledger did not answer, and nothing may be promised to the caller. */
export type Settled =
  | { readonly kind: "posted"; readonly cost: Cost; readonly charge: Charge; readonly final: FinalPart | null }
  | { readonly kind: "voided" }
  | { readonly kind: "unsettled"; readonly cause: unknown };

export interface SettleParts {
  readonly deps: PipelineDeps;
  readonly record: RequestRecord;
  readonly payer: Payer;
}

type Served = Extract<Dispatched, { readonly outcome: "success" | "left_after_content" }>;

function isServed(dispatched: Dispatched | null): dispatched is Served {
  return dispatched?.outcome === "success" || dispatched?.outcome === "left_after_content";
}

/** How a hold ends: charged for what was served, or released. Fills in the record's money. */
export async function settle(
  hold: Hold,
  plan: Plan,
  dispatched: Dispatched | null,
  parts: SettleParts,
): Promise<Settled> {
  const { deps, record } = parts;
  try {
    if (isServed(dispatched)) return await post(hold, plan, dispatched, parts);
    const keyFate = await keyFateOf(hold, plan, dispatched, parts);
    const fromMs = deps.clock.elapsedMs();
    await deps.ledger.void(hold, dispatched?.outcome ?? "broken", keyFate);
    deps.observer.ledgerTook("void", deps.clock.elapsedMs() - fromMs);
    return { kind: "voided" };
  } catch (cause) {
    deps.onBroken(cause, record.requestId);
    return { kind: "unsettled", cause };
  } finally {
    deps.leases.release(hold);
  }
}

/** What is left to do for a call that costs nothing: there is no hold to end. */
export async function settleFree(plan: Plan, dispatched: Dispatched | null, parts: SettleParts): Promise<Settled> {
  if (!isServed(dispatched)) return { kind: "voided" };
  try {
    const final = await prepared(plan, dispatched);
    const account = await parts.deps.ledger.account(parts.payer.accountId);
    const balanceNano = account === null ? null : minus(account.grantedNano, account.spentNano);
    const charge = { transactionId: null, chargedNano: ZERO, chargedCents: 0, absorbedNano: ZERO, balanceNano };
    const cost = { chargeNano: ZERO, upstreamNano: ZERO, usage: null, estimated: false, priceVersion: "free" };
    return { kind: "posted", cost, charge, final };
  } catch (cause) {
    parts.deps.onBroken(cause, parts.record.requestId);
    return { kind: "unsettled", cause };
  }
}

/** What a call that is not charged leaves of its Idempotency-Key. */
async function keyFateOf(
  hold: Hold,
  plan: Plan,
  dispatched: Exclude<Dispatched, Served> | null,
  { deps, record, payer }: SettleParts,
): Promise<KeyFate> {
  if (plan.idempotency === null) return "free";
  const failures = dispatched !== null && "failures" in dispatched ? dispatched.failures : [];
  const mayHaveRun = dispatched === null || failures.some((failure) => failure.mayHaveRun !== false);
  const error = dispatched?.outcome === "failed" ? failureError(plan, failures, record.attempts) : null;
  if (error !== null && isDeterministic(error))
    return (await keepRefusal(hold, error, payer, deps)) ? "answered" : "free";
  return plan.effect === "write" && mayHaveRun && dispatched?.outcome !== "left_before_content" ? "unknown" : "free";
}

async function prepared(plan: Plan, served: Served): Promise<FinalPart | null> {
  if (served.outcome !== "success") return null;
  return plan.prepare === null ? served.final : plan.prepare(served.final, served.served, served.reading);
}

async function post(hold: Hold, plan: Plan, served: Served, { deps, record, payer }: SettleParts): Promise<Settled> {
  let cost: Cost;
  let final: FinalPart | null;
  try {
    final = await prepared(plan, served);
    cost = await plan.cost(served.served, served.reading, served.outcome === "success" ? "whole" : "left");
  } catch (cause) {
    // What cannot be counted cannot be charged, and its hold must not keep the money until the lease ends.
    await deps.ledger.void(hold, "its cost could not be counted", plan.effect === "write" ? "unknown" : "free");
    throw cause;
  }
  if (plan.idempotency !== null && final?.kind === "body") {
    await keepAnswer(hold, { body: final.body, cost, attempts: record.attempts }, payer, deps);
  }
  const fromMs = deps.clock.elapsedMs();
  const posted = await deps.ledger.post({
    accountId: hold.accountId,
    holdId: hold.holdId,
    amountNano: cost.chargeNano,
    upstreamNano: cost.upstreamNano,
    absorbReason: "usage_above_hold",
    provider: served.served.provider,
    served: served.served.model,
    usage: cost.usage,
    estimated: cost.estimated,
    priceVersion: cost.priceVersion,
    legs: [],
  });
  deps.observer.ledgerTook("post", deps.clock.elapsedMs() - fromMs);
  record.usage = cost.usage;
  record.estimated = cost.estimated;
  record.upstreamNano = cost.upstreamNano;
  record.skippedEvents += served.reading.skippedEvents;
  if (posted.outcome === "posted" || posted.outcome === "spooled") {
    record.chargedNano = posted.chargedNano;
    record.absorbedNano = posted.absorbedNano;
    record.absorbReason = posted.absorbedNano > 0 ? "usage_above_hold" : null;
    record.transactionId = hold.holdId;
    return { kind: "posted", cost, charge: { transactionId: hold.holdId, ...posted }, final };
  }
  // The hold had ended before the answer did, and cannot be charged late: its money is free again, so the cost is ours.
  record.absorbedNano = cost.chargeNano;
  record.absorbReason = `hold_${posted.outcome}`;
  const absorbed = { chargedNano: ZERO, chargedCents: 0, absorbedNano: cost.chargeNano, balanceNano: null };
  return { kind: "posted", cost, charge: { transactionId: hold.holdId, ...absorbed }, final };
}
