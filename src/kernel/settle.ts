// Ends a hold in exactly one capture, release or hand-over. Never throws: if the funds are unavailable, the hold expires with its lease.
import { GatewayError } from "../core/errors.ts";
import { ZERO } from "../core/money.ts";
import type { Charge, Cost, Funds, Held, KeyFate, Payer, Plan } from "../core/plan.ts";
import type { Candidate, FinalPart, Reading, Tries } from "../core/route.ts";
import type { KernelDeps } from "./deps.ts";
import type { Dispatched } from "./dispatch.ts";
import { failureError } from "./failure-error.ts";
import { type CountedTaken, noteCosts } from "./leg-costs.ts";
import { isDeterministic, keepAnswer, keepRefusal, launchCharge } from "./replay.ts";

export type Settled =
  | {
      readonly kind: "captured";
      readonly cost: Cost;
      readonly charge: Charge;
      readonly final: FinalPart | null;
      /** The answer was charged, but the caller gets this error instead. */
      readonly told: GatewayError | null;
    }
  | { readonly kind: "released" }
  /** The funds did not pay, or the guard refused the answer: nothing is charged. */
  | { readonly kind: "withheld"; readonly error: GatewayError }
  /** The funds did not respond, so the result is unknown. */
  | { readonly kind: "unsettled" };

export interface SettleParts {
  readonly id: string;
  readonly deps: KernelDeps;
  readonly funds: Funds;
  readonly payer: Payer;
  readonly tries: Pick<Tries, "legs" | "taken">;
}

/** The charged part of an answer: all of it, or what was delivered. */
interface Served {
  readonly served: Candidate;
  readonly reading: Reading;
  readonly ended: "whole" | "left";
  /** Null where the reader disconnected. */
  readonly final: FinalPart | null;
}

const FREE: Cost = { chargeNano: ZERO, upstreamNano: ZERO, usage: null, estimated: false, priceVersion: "free" };
const RETRY_SECONDS = 5;
const NO_TAGS: readonly string[] = [];

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

/** Ends the call's hold. `held` is null where the plan holds nothing. Never rejects. */
export function settle(
  held: Held | null,
  plan: Plan,
  dispatched: Dispatched | null,
  parts: SettleParts,
): Promise<Settled> {
  const served = servedOf(dispatched);
  try {
    if (served !== null) plan.served?.(served.served);
  } catch (cause) {
    const ending = held === null ? Promise.resolve() : letGo(held, plan, null, parts);
    return ending.then(
      () => unsettled(cause, parts),
      () => unsettled(cause, parts),
    );
  }
  if (held !== null && served !== null) return capture(held, plan, served, parts);
  const ending = held === null ? giveAway(plan, served, parts) : release(held, plan, dispatched, parts);
  return ending.catch((cause: unknown) => unsettled(cause, parts));
}

function unsettled(cause: unknown, { deps, id }: SettleParts): Settled {
  deps.onBroken(cause, id);
  return { kind: "unsettled" };
}

type Prepared = FinalPart | GatewayError | null;

function prepared(plan: Plan, { final, served, reading }: Served): Prepared | Promise<Prepared> {
  return final === null || plan.prepare === null ? final : plan.prepare(final, served, reading);
}

/** The answer, or the error that replaces it: exactly one is null. */
function toldIn(ready: Prepared): { readonly final: FinalPart | null; readonly told: GatewayError | null } {
  return ready instanceof GatewayError ? { final: null, told: ready } : { final: ready, told: null };
}

/** For a plan without a hold: nothing is charged. */
async function giveAway(plan: Plan, served: Served | null, { id, deps, funds, tries }: SettleParts): Promise<Settled> {
  await noteCosts(plan, tries, null, (error) => deps.onBroken(error, id));
  if (served === null) return { kind: "released" };
  const ready = toldIn(await prepared(plan, served));
  const charge = {
    transactionId: null,
    chargedNano: ZERO,
    chargedCents: 0,
    absorbedNano: ZERO,
    absorbReason: null,
    balanceNano: await funds.balance(),
  };
  return { kind: "captured", cost: FREE, charge, ...ready };
}

async function release(held: Held, plan: Plan, dispatched: Dispatched | null, parts: SettleParts): Promise<Settled> {
  const { funds, tries, deps, id } = parts;
  await noteCosts(plan, tries, null, (error) => deps.onBroken(error, id));
  const keyFate = await keyFateOf(held, plan, dispatched, parts);
  await funds.release(held, { reason: dispatched?.outcome ?? "broken", keyFate, legs: tries.legs });
  await dismiss(held, plan, parts);
  return { kind: "released" };
}

/** Removes the record of the work that was to take over the hold. */
async function dismiss(held: Held, { hold }: Plan, { deps }: SettleParts): Promise<void> {
  if (hold.kind === "kept") await deps.keeper.dismiss(held.id, hold);
}

/** The state of the Idempotency-Key after a call that is not charged. */
async function keyFateOf(
  held: Held,
  plan: Plan,
  dispatched: Dispatched | null,
  { deps, payer, tries: { legs } }: SettleParts,
): Promise<KeyFate> {
  if (plan.idempotency === null) return "free";
  const failures = dispatched !== null && "failures" in dispatched ? dispatched.failures : [];
  const mayHaveRun = dispatched === null || failures.some((failure) => failure.mayHaveRun !== false);
  const error = dispatched?.outcome === "failed" ? failureError(plan, failures, legs) : null;
  if (error !== null && isDeterministic(error))
    return (await keepRefusal(held.id, error, payer, deps)) ? "answered" : "free";
  return plan.effect === "write" && mayHaveRun && dispatched?.outcome !== "left_before_content" ? "unknown" : "free";
}

/** Charges an answer. Notes our own cost before anything can fail: it is recorded with the end of the hold. Never rejects. */
async function capture(held: Held, plan: Plan, answered: Served, parts: SettleParts): Promise<Settled> {
  const { deps, funds, tries, id } = parts;
  const { legs } = tries;
  try {
    let cost: Cost | null = null;
    let uncounted: unknown = null;
    try {
      const counting = plan.cost(answered.served, answered.reading, answered.ended);
      cost = counting instanceof Promise ? await counting : counting;
    } catch (cause) {
      uncounted = cause;
    }
    const noting = noteCosts(plan, tries, countedTaken(answered, cost, parts), (error) => deps.onBroken(error, id));
    if (noting !== null) await noting;
    const served = plan.screen === undefined ? answered : await screened(answered, plan.screen, parts);
    if (served instanceof GatewayError) return await withhold(held, plan, served, parts);
    let ready: Prepared;
    try {
      if (cost === null) throw uncounted;
      const preparing = prepared(plan, served);
      ready = preparing instanceof Promise ? await preparing : preparing;
    } catch (cause) {
      await letGo(held, plan, cost, parts);
      throw cause;
    }
    const { final, told } = toldIn(ready);
    if (plan.idempotency !== null) await keepTold(held, { final, told, cost }, parts);
    if (plan.hold.kind === "kept") return await handOver(held, plan, { cost, final }, parts);
    const charge = await funds.capture(held, { cost, served: served.served, legs, tags: plan.tags ?? NO_TAGS });
    if (charge instanceof GatewayError) return { kind: "withheld", error: charge };
    return { kind: "captured", cost, charge, final, told };
  } catch (cause) {
    return unsettled(cause, parts);
  }
}

/** The attempt that served; its cost is null if unknown. */
function countedTaken({ served }: Served, cost: Cost | null, { tries }: SettleParts): CountedTaken | null {
  const taken = tries.taken.findLast(({ candidate }) => candidate === served);
  return taken === undefined ? null : { taken, cost };
}

/** Releases the hold of an answer that cannot be costed or stored, so that its money does not wait for the lease to end. */
async function letGo(held: Held, plan: Plan, cost: Cost | null, parts: SettleParts): Promise<void> {
  const keyFate = plan.effect === "write" ? "unknown" : "free";
  const reason = cost === null ? "its cost could not be counted" : "its answer could not be kept";
  await parts.funds.release(held, { reason, keyFate, legs: parts.tries.legs });
  await dismiss(held, plan, parts);
}

/** Stores the caller's answer or error under its Idempotency-Key. */
async function keepTold(
  { id }: Held,
  { final, told, cost }: { readonly final: FinalPart | null; readonly told: GatewayError | null; readonly cost: Cost },
  { deps, payer, tries }: SettleParts,
): Promise<void> {
  if (final?.kind === "body") await keepAnswer(id, { body: final.body, cost, attempts: tries.legs }, payer, deps);
  if (told !== null) await keepRefusal(id, told, payer, deps);
}

/** The answer after the guard. If the guard breaks, the answer is withheld. */
async function screened(
  served: Served,
  screen: NonNullable<Plan["screen"]>,
  { id, deps }: SettleParts,
): Promise<Served | GatewayError> {
  if (served.final === null) return served;
  try {
    const final = await screen(served.final);
    return final instanceof GatewayError ? final : { ...served, final };
  } catch (cause) {
    deps.onBroken(cause, id);
    return new GatewayError("internal_error", { cause });
  }
}

/** A failed call is not charged: its vendor's bill counts among the account's unpaid costs. */
async function withhold(held: Held, plan: Plan, error: GatewayError, parts: SettleParts): Promise<Settled> {
  const { deps, funds, payer, tries } = parts;
  const keeps = plan.idempotency !== null && isDeterministic(error);
  const isKept = keeps && (await keepRefusal(held.id, error, payer, deps));
  // Writes by its actions remain, so unless its refusal is stored it must not run again under its key.
  const keyFate = isKept ? "answered" : plan.effect === "write" ? "unknown" : "free";
  await funds.release(held, { reason: "its answer was refused", keyFate, legs: tries.legs });
  return { kind: "withheld", error };
}

/** Hands the hold over to the record of work that outlives its request; releases it where none can take it. */
async function handOver(
  held: Held,
  plan: Plan,
  { cost, final }: { readonly cost: Cost; readonly final: FinalPart | null },
  parts: SettleParts,
): Promise<Settled> {
  const { deps, funds, payer, tries } = parts;
  const { legs } = tries;
  if (plan.hold.kind !== "kept") throw new Error("only a kept hold is handed over");
  try {
    await deps.keeper.takeOver(held, plan.hold, payer);
  } catch (cause) {
    await funds.release(held, { reason: "nobody took it over", keyFate: "free", legs });
    await dismiss(held, plan, parts);
    throw cause;
  }
  const balance = await funds.balance().catch(() => null);
  return { kind: "captured", cost, charge: launchCharge(held.id, balance), final, told: null };
}

/** The error for a call that was served but not settled. */
export const UNSETTLED = new GatewayError("ledger_unavailable", { retryAfterSeconds: RETRY_SECONDS });
