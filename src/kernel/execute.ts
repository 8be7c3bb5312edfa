// Runs every call through the same steps: quote, reserve, dispatch and relay, settle. Independent of transports and formats.
import { GatewayError, isOwnFault } from "../core/errors.ts";
import { centsUp, least, usdText, ZERO } from "../core/money.ts";
import {
  type AnswerReader,
  type Ended,
  type Funds,
  type Held,
  isAccountPayer,
  type OpenPlan,
  type Payer,
  type Plan,
} from "../core/plan.ts";
import type { AttemptFailure, Tries } from "../core/route.ts";
import type { KernelDeps } from "./deps.ts";
import { type Dispatched, dispatch } from "./dispatch.ts";
import { failureError } from "./failure-error.ts";
import { Relay } from "./relay.ts";
import { replay } from "./replay.ts";
import { type Settled, settle, UNSETTLED } from "./settle.ts";

export interface Execution {
  readonly id: string;
  readonly payer: Payer;
  readonly funds: Funds;
  /** The transaction that contains this call, if any. */
  readonly parent: string | null;
  /** Aborting stops the call, which is then not charged. Null where the caller cannot abort. */
  readonly signal: AbortSignal | null;
  /** The caller's deadline on `clock.elapsedMs()`, if any. */
  readonly deadlineMs: number | null;
  readonly reader: AnswerReader;
}

const NEEDS_ACCOUNT = new GatewayError("invalid_token", { detail: "What goes on after its request needs a key." });

const INTERNAL: AttemptFailure = { kind: "gateway_internal", status: 0, message: "internal error", retryAfterMs: null };

/** Runs a plan to its end. Never rejects. One capture, release or hand-over after the hold. A single async frame: each costs 800 bytes. */
export async function execute(wanted: Plan | OpenPlan, execution: Execution, deps: KernelDeps): Promise<Ended> {
  const { id } = execution;
  let plan: Plan;
  let held: Held | null = null;
  try {
    const readying = isReady(wanted) ? wanted : readied(wanted, execution.payer);
    plan = readying instanceof Promise ? await readying : readying;
    if (plan.hold.kind !== "none") {
      const reserved = await reserve(plan, execution, deps);
      if (reserved instanceof GatewayError) return refusedCall(id, reserved);
      if ("replayOf" in reserved) return await replayed(reserved.replayOf, plan, execution, deps);
      held = reserved;
      if (plan.onlyAgain !== undefined) {
        await execution.funds.release(held, { reason: "it would be run anew", keyFate: "free", legs: [] });
        return refusedCall(id, plan.onlyAgain);
      }
      if (reserved.route !== undefined && reserved.route !== plan.route) plan = { ...plan, route: reserved.route };
    }
  } catch (cause) {
    // Nothing is held, or the hold is being released.
    return cause instanceof GatewayError && !isOwnFault(cause) ? refusedCall(id, cause) : broken(id, cause, deps);
  }
  // Keep nothing between placing the hold and the `try`.
  try {
    // The clock of the call starts once its hold is placed.
    const tries = newTries(plan, execution, deps);
    let dispatched: Dispatched | null = null;
    let settled: Settled;
    try {
      execution.reader.admitted();
      dispatched = await dispatch(plan, {
        relay: new Relay(execution.reader, tries, plan),
        tries,
        signal: execution.signal,
      });
      if ("failures" in dispatched) tellBroken(dispatched.failures, id, deps);
    } catch (error) {
      deps.onBroken(error, id);
      const failures = [INTERNAL];
      dispatched =
        tries.committedMs === null ? { outcome: "failed", failures } : { outcome: "broken", failures, held: null };
    } finally {
      const { funds, payer } = execution;
      settled = await settle(held, plan, dispatched, { id, deps, funds, payer, tries });
    }
    return ended(plan, { id, held, tries, dispatched, settled });
  } catch (cause) {
    return broken(id, cause, deps);
  }
}

/** True if the payer is known and the quote is within the caller's bound, which holds for nearly every plan. */
function isReady(wanted: Plan | OpenPlan): wanted is Plan {
  return !("forPayer" in wanted) && isWithinMaxCost(wanted);
}

function isWithinMaxCost({ quote, maxCostNano }: Plan): boolean {
  return maxCostNano === null || quote.nano <= maxCostNano;
}

/** Synchronous where nothing has to wait, which holds for nearly every action. */
function readied(wanted: Plan | OpenPlan, payer: Payer): Plan | Promise<Plan> {
  const bounded = (owned: Plan): Plan | Promise<Plan> => (isWithinMaxCost(owned) ? owned : withinMaxCost(owned));
  const owned = "forPayer" in wanted ? wanted.forPayer(payer) : wanted;
  return owned instanceof Promise ? owned.then(bounded) : bounded(owned);
}

type Reserved = Awaited<ReturnType<Funds["reserve"]>>;

function reserve(plan: Plan, execution: Execution, deps: KernelDeps): Promise<Reserved> {
  const { id, funds, parent } = execution;
  return plan.hold.kind === "kept" ? reserveKept(plan, execution, deps) : funds.reserve(plan, id, parent);
}

async function reserveKept(plan: Plan, { id, funds, parent, payer }: Execution, deps: KernelDeps): Promise<Reserved> {
  if (plan.hold.kind !== "kept") throw new Error("only a kept hold is announced");
  // Only an account's hold can be renewed and charged later; a payment on chain cannot.
  if (!isAccountPayer(payer)) return NEEDS_ACCOUNT;
  const refusal = await deps.keeper.announce(id, plan.hold, payer);
  if (refusal !== null) return refusal;
  const reserved = await funds.reserve(plan, id, parent);
  if (!("amountNano" in reserved)) await deps.keeper.dismiss(id, plan.hold);
  return reserved;
}

/** Reports failures that are our fault and not reported yet. */
function tellBroken(failures: readonly AttemptFailure[], id: string, deps: KernelDeps): void {
  for (const { kind, told, message, cause } of failures)
    if (kind === "gateway_internal" && told === undefined) deps.onBroken(cause ?? new Error(message), id);
}

/** Fits the plan into the caller's cost bound; uses the tighter quote if the cheap one exceeds it. */
async function withinMaxCost(plan: Plan): Promise<Plan> {
  const { quote, maxCostNano } = plan;
  if (maxCostNano === null) return plan;
  const nano = quote.tighten === null ? quote.nano : least(quote.nano, await quote.tighten());
  if (nano <= maxCostNano) return { ...plan, quote: { ...quote, nano, tighten: null } };
  const within = quote.within?.(maxCostNano) ?? null;
  if (within !== null) return { ...plan, route: within.route, quote: { ...quote, nano: within.nano, tighten: null } };
  throw new GatewayError("max_cost_exceeded", {
    detail: { needed_usd: usdText(nano) },
    param: "max_cost_cents",
    data: { needed_cents: centsUp(nano) },
  });
}

function newTries(plan: Plan, { deadlineMs }: Execution, { clock, health }: KernelDeps): Tries {
  const ownMs = clock.elapsedMs() + plan.wholeMsMax;
  return {
    clock,
    health,
    effect: plan.effect,
    deadlineMs: deadlineMs === null ? ownMs : Math.min(ownMs, deadlineMs),
    committedMs: null,
    attemptsLeft: plan.attemptsMax,
    legs: [],
    failures: [],
    failed: null,
    skippedEvents: 0,
    taken: [],
    empty: null,
  };
}

const NOTHING = {
  error: null,
  final: null,
  served: null,
  reading: null,
  cost: null,
  charge: null,
  heldNano: ZERO,
  legs: [],
  firstContentMs: null,
  skippedEvents: 0,
  isReplay: false,
} as const;

export function refusedCall(id: string, error: GatewayError): Ended {
  return { ...NOTHING, id, outcome: "refused", error };
}

/** An unavailable store rejects with an error for the caller; any other error is our fault. */
function broken(id: string, cause: unknown, deps: KernelDeps): Ended {
  deps.onBroken(cause, id);
  return refusedCall(id, cause instanceof GatewayError ? cause : new GatewayError("internal_error", { cause }));
}

async function replayed(replayOf: string, plan: Plan, { id, funds }: Execution, deps: KernelDeps): Promise<Ended> {
  const found = await replay(replayOf, plan, { funds, deps });
  if ("error" in found)
    return { ...NOTHING, id: replayOf, outcome: "refused", error: found.error, isReplay: found.kept };
  const { body, cost, charge, legs } = found;
  return { ...NOTHING, id, outcome: "replayed", final: { kind: "body", body }, cost, charge, legs, isReplay: true };
}

function ended(
  plan: Plan,
  {
    id,
    held,
    tries,
    dispatched,
    settled,
  }: { id: string; held: Held | null; tries: Tries; dispatched: Dispatched; settled: Settled },
): Ended {
  const captured = settled.kind === "captured" ? settled : null;
  const reading = "reading" in dispatched ? dispatched.reading : null;
  const isLeft = dispatched.outcome === "left_before_content" || dispatched.outcome === "left_after_content";
  const answered = dispatched.outcome === "success" && captured !== null && captured.told === null;
  return {
    id,
    // The vendor answered but the caller does not get the answer: the call failed.
    outcome: dispatched.outcome === "success" && !answered ? "failed" : dispatched.outcome,
    error: isLeft || answered ? null : errorOf(plan, tries, dispatched, settled),
    final: answered ? (captured.final ?? dispatched.final) : null,
    served: "served" in dispatched ? dispatched.served : null,
    reading,
    cost: captured === null ? null : captured.cost,
    charge: captured === null ? null : captured.charge,
    heldNano: held?.amountNano ?? ZERO,
    legs: tries.legs,
    firstContentMs: tries.committedMs,
    skippedEvents: tries.skippedEvents + (reading?.skippedEvents ?? 0),
    isReplay: false,
  };
}

function errorOf(plan: Plan, { legs }: Tries, dispatched: Dispatched, settled: Settled): GatewayError {
  if (settled.kind === "withheld") return settled.error;
  if (settled.kind === "captured" && settled.told !== null) return settled.told;
  return "failures" in dispatched ? failureError(plan, dispatched.failures, legs) : UNSETTLED;
}
