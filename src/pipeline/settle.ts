// Ends a hold in exactly one post or void. It never throws: a ledger that is away leaves the hold to its lease.

import { ZERO } from "../money.ts";
import type { RequestRecord } from "../observe/record.ts";
import type { Charge, Cost, Payer, Plan } from "../plan.ts";
import type { PipelineDeps } from "./deps.ts";
import type { Dispatched } from "./dispatch.ts";
import { keepAnswer } from "./replay.ts";
import type { Hold } from "./reserve.ts";

/** What became of the money. `unsettled`: the ledger did not answer, and nothing may be promised to the caller. */
export type Settled =
  | { readonly kind: "posted"; readonly cost: Cost; readonly charge: Charge }
  | { readonly kind: "voided" }
  | { readonly kind: "unsettled"; readonly cause: unknown };

export interface SettleParts {
  readonly deps: PipelineDeps;
  readonly record: RequestRecord;
  readonly payer: Payer;
}

type Served = Extract<Dispatched, { readonly outcome: "success" | "left_after_content" }>;

/** How a hold ends: charged for what was served, or released. Fills in the record's money. */
export async function settle(
  hold: Hold,
  plan: Plan,
  dispatched: Dispatched | null,
  parts: SettleParts,
): Promise<Settled> {
  const { deps, record } = parts;
  try {
    if (dispatched?.outcome === "success" || dispatched?.outcome === "left_after_content") {
      return await post(hold, plan, dispatched, parts);
    }
    const fromMs = deps.clock.elapsedMs();
    await deps.ledger.void(hold, dispatched?.outcome ?? "broken");
    deps.observer.ledgerTook("void", deps.clock.elapsedMs() - fromMs);
    return { kind: "voided" };
  } catch (cause) {
    deps.onBroken(cause, record.requestId);
    return { kind: "unsettled", cause };
  } finally {
    deps.leases.release(hold);
  }
}

async function post(hold: Hold, plan: Plan, served: Served, { deps, record, payer }: SettleParts): Promise<Settled> {
  let cost: Cost;
  try {
    cost = await plan.cost(served.served, served.reading, served.outcome === "success" ? "whole" : "left");
  } catch (cause) {
    // What cannot be counted cannot be charged, and its hold must not keep the money until the lease ends.
    await deps.ledger.void(hold, "its cost could not be counted");
    throw cause;
  }
  if (plan.idempotency !== null && served.outcome === "success" && served.final.kind === "body") {
    await keepAnswer(hold, { body: served.final.body, cost, attempts: record.attempts }, payer, deps);
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
  });
  deps.observer.ledgerTook("post", deps.clock.elapsedMs() - fromMs);
  record.usage = cost.usage;
  record.estimated = cost.estimated;
  record.upstreamNano = cost.upstreamNano;
  record.skippedEvents += served.reading.skippedEvents;
  if (posted.outcome === "posted") {
    record.chargedNano = posted.chargedNano;
    record.absorbedNano = posted.absorbedNano;
    record.absorbReason = posted.absorbedNano > 0 ? "usage_above_hold" : null;
    record.transactionId = hold.holdId;
    return { kind: "posted", cost, charge: { transactionId: hold.holdId, ...posted } };
  }
  // The hold had ended before the answer did: its money is free again, so the cost is ours.
  record.absorbedNano = cost.chargeNano;
  record.absorbReason = `hold_${posted.outcome}`;
  const charge = { transactionId: hold.holdId, chargedNano: ZERO, chargedCents: 0, absorbedNano: cost.chargeNano };
  return { kind: "posted", cost, charge };
}
