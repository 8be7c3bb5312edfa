// Ends a hold in exactly one capture, release or hand-over. It never throws: funds that are away leave the hold to its lease.
import { GatewayError } from "../errors.ts";
import { ZERO } from "../money.ts";
import type { Charge, Cost, Funds, Held, KeyFate, Payer, Plan } from "../plan.ts";
import type { Candidate, FinalPart, Leg, Reading } from "../route.ts";
import type { KernelDeps } from "./deps.ts";
import type { Dispatched } from "./dispatch.ts";
import { failureError } from "./failure-error.ts";
import { isDeterministic, keepAnswer, keepRefusal, launchCharge } from "./replay.ts";

/** What became of the money. */
export type Settled =
  | { readonly kind: "captured"; readonly cost: Cost; readonly charge: Charge; readonly final: FinalPart | null }
  | { readonly kind: "released" }
  /** The funds would not pay for it after all: the answer is withheld. */
  | { readonly kind: "unpaid"; readonly error: GatewayError }
  /** The funds did not answer, and nothing may be promised to the caller. */
  | { readonly kind: "unsettled" };

export interface SettleParts {
  /** The call's transaction. */
  readonly id: string;
  readonly deps: KernelDeps;
  readonly funds: Funds;
  readonly payer: Payer;
  readonly legs: Leg[];
}

/** What is paid for: a whole answer, or what was delivered of one. */
interface Served {
  readonly served: Candidate;
  readonly reading: Reading;
  readonly ended: "whole" | "left";
  /** Null where nobody is left to get it. */
  readonly final: FinalPart | null;
}

const FREE: Cost = { chargeNano: ZERO, upstreamNano: ZERO, usage: null, estimated: false, priceVersion: "free" };
const RETRY_SECONDS = 5;

/** Null where nothing was served: a failed call is not charged. */
function servedOf(dispatched: Dispatched | null): Served | null {
  switch (dispatched?.outcome) {
    case "success":
      return { served: dispatched.served, reading: dispatched.reading, ended: "whole", final: dispatched.final };
    case "left_after_content":
      return { served: dispatched.served, reading: dispatched.reading, ended: dispatched.ended, final: null };
    case "left_before_content":
      return dispatched.accepted === null ? null : { ...dispatched.accepted, ended: "left", final: null };
    case "broken":
      return dispatched.held === null ? null : { ...dispatched.held, ended: "left", final: null };
    default:
      return null;
  }
}

/** How a call's money ends. `held` is null where the plan holds nothing. */
export async function settle(
  held: Held | null,
  plan: Plan,
  dispatched: Dispatched | null,
  parts: SettleParts,
): Promise<Settled> {
  const served = servedOf(dispatched);
  try {
    if (held === null) return served === null ? { kind: "released" } : await giveAway(plan, served, parts);
    if (served === null) return await release(held, plan, dispatched, parts);
    return await capture(held, plan, served, parts);
  } catch (cause) {
    parts.deps.onBroken(cause, parts.id);
    return { kind: "unsettled" };
  }
}

function prepared(plan: Plan, { final, served, reading }: Served): FinalPart | null | Promise<FinalPart> {
  return final === null || plan.prepare === null ? final : plan.prepare(final, served, reading);
}

async function giveAway(plan: Plan, served: Served, { funds }: SettleParts): Promise<Settled> {
  const final = await prepared(plan, served);
  const charge = {
    transactionId: null,
    chargedNano: ZERO,
    chargedCents: 0,
    absorbedNano: ZERO,
    absorbReason: null,
    balanceNano: await funds.balance(),
  };
  return { kind: "captured", cost: FREE, charge, final };
}

async function release(held: Held, plan: Plan, dispatched: Dispatched | null, parts: SettleParts): Promise<Settled> {
  const keyFate = await keyFateOf(held, plan, dispatched, parts);
  await parts.funds.release(held, { reason: dispatched?.outcome ?? "broken", keyFate, legs: parts.legs });
  await dismiss(held, plan, parts);
  return { kind: "released" };
}

/** What was to go on with a hold has nothing to go on with. */
async function dismiss(held: Held, { hold }: Plan, { deps }: SettleParts): Promise<void> {
  if (hold.kind === "kept") await deps.keeper.dismiss(held.id, hold);
}

/** What a call that is not charged leaves of its Idempotency-Key. */
async function keyFateOf(
  held: Held,
  plan: Plan,
  dispatched: Dispatched | null,
  { deps, payer, legs }: SettleParts,
): Promise<KeyFate> {
  if (plan.idempotency === null) return "free";
  const failures = dispatched !== null && "failures" in dispatched ? dispatched.failures : [];
  const mayHaveRun = dispatched === null || failures.some((failure) => failure.mayHaveRun !== false);
  const error = dispatched?.outcome === "failed" ? failureError(plan, failures, legs) : null;
  if (error !== null && isDeterministic(error))
    return (await keepRefusal(held.id, error, payer, deps)) ? "answered" : "free";
  return plan.effect === "write" && mayHaveRun && dispatched?.outcome !== "left_before_content" ? "unknown" : "free";
}

async function capture(held: Held, plan: Plan, served: Served, parts: SettleParts): Promise<Settled> {
  const { deps, funds, payer, legs } = parts;
  let cost: Cost;
  let final: FinalPart | null;
  try {
    const ready = prepared(plan, served);
    final = ready instanceof Promise ? await ready : ready;
    const counted = plan.cost(served.served, served.reading, served.ended);
    cost = counted instanceof Promise ? await counted : counted;
  } catch (cause) {
    // What cannot be counted cannot be charged, and its hold must not keep the money until the lease ends.
    const keyFate = plan.effect === "write" ? "unknown" : "free";
    await funds.release(held, { reason: "its cost could not be counted", keyFate, legs });
    await dismiss(held, plan, parts);
    throw cause;
  }
  noteCost(legs, served.served, cost);
  if (plan.idempotency !== null && final?.kind === "body") {
    await keepAnswer(held.id, { body: final.body, cost, attempts: legs }, payer, deps);
  }
  if (plan.hold.kind === "kept") return handOver(held, plan, { cost, final }, parts);
  const { tags = [] } = plan;
  const charge = await funds.capture(held, { cost, served: served.served, legs, tags });
  return charge instanceof GatewayError ? { kind: "unpaid", error: charge } : { kind: "captured", cost, charge, final };
}

/**
 * The leg of the one that served costs what was counted, whatever was known of it while it ran. Losers of a race may be of the same
 * model and come after it; an answer that was left has no leg that ended well.
 */
function noteCost(legs: Leg[], served: Candidate, { upstreamNano }: Cost): void {
  const isOwn = ({ provider, model }: Leg) => provider === served.provider && model === served.model;
  const leg = legs.findLast((one) => one.failure === null && isOwn(one)) ?? legs.findLast(isOwn);
  if (leg !== undefined) leg.upstreamNano = upstreamNano;
}

/** The hold of what outlives its request goes to whoever goes on with it; where nobody can take it, it is released. */
async function handOver(
  held: Held,
  plan: Plan,
  { cost, final }: { readonly cost: Cost; readonly final: FinalPart | null },
  parts: SettleParts,
): Promise<Settled> {
  const { deps, funds, payer, legs } = parts;
  if (plan.hold.kind !== "kept") throw new Error("only a kept hold is handed over");
  try {
    await deps.keeper.takeOver(held, plan.hold, payer);
  } catch (cause) {
    await funds.release(held, { reason: "nobody took it over", keyFate: "free", legs });
    await dismiss(held, plan, parts);
    throw cause;
  }
  const balance = await funds.balance().catch(() => null);
  return { kind: "captured", cost, charge: launchCharge(held.id, balance), final };
}

/** What a caller is told whose call was served, but not settled. */
export const UNSETTLED = new GatewayError("ledger_unavailable", { retryAfterSeconds: RETRY_SECONDS });
