// Takes the hold: one atomic ledger operation that lets a call in or says exactly why not. Nothing is sent before it.
import { GatewayError } from "../errors.ts";
import type { HoldRef, ReserveOutcome, ReserveRequest } from "../ledger/model/ledger.ts";
import { add, centsDown, centsUp, minus, type Nano, usdText } from "../money.ts";
import type { Caller, Plan } from "../plan.ts";
import type { PipelineDeps } from "./deps.ts";
import type { ToldWindow } from "./told-window.ts";

/** A hold that is open, and what it holds. */
export interface Hold extends HoldRef {
  readonly amountNano: Nano;
}

/** The call was made before under the same Idempotency-Key and charged then. */
export interface Replay {
  readonly replayOf: string;
}

const IDEMPOTENCY_KEEP_MS = 24 * 3_600_000;
const TEMPORARY_SECONDS = 5;
const WINDOW_SECONDS = 60;

type Refused = Exclude<ReserveOutcome, { readonly outcome: "held" | "idempotency_done" }>;
type Short = Extract<Refused, { readonly outcome: "insufficient" | "ceiling" | "inference_cap" }>;

function isShort(outcome: ReserveOutcome): outcome is Short {
  return ["insufficient", "ceiling", "inference_cap"].includes(outcome.outcome);
}

/** What is free now, and what would be free once the running calls have ended. */
function room(short: Short): { freeNano: Nano; laterNano: Nano } {
  if (short.outcome === "insufficient") return { freeNano: short.freeNano, laterNano: short.balanceNano };
  const bound = short.outcome === "ceiling" ? short.ceilingNano : short.capNano;
  const laterNano = minus(bound, add(short.spentNano, short.absorbedNano));
  return { freeNano: minus(laterNano, short.heldNano), laterNano };
}

/** Too little money: 402 or 429 with what would have been possible; temporary where only running calls are in the way. */
function shortError(short: Short, plan: Plan, amount: Nano, nowMs: number): GatewayError {
  const { freeNano, laterNano } = room(short);
  const temporary = laterNano >= amount;
  const detail = { needed_usd: usdText(amount), free_usd: usdText(freeNano) };
  const data: Record<string, unknown> = { held_cents: centsUp(short.heldNano), ...plan.quote.affordable(freeNano) };
  if (temporary) data.temporary = true;
  const options = { data, retry: temporary, ...(temporary ? { retryAfterSeconds: TEMPORARY_SECONDS } : {}) };
  if (short.outcome === "insufficient") {
    data.balance_cents = centsDown(short.balanceNano);
    return new GatewayError("insufficient_balance", { ...options, detail });
  }
  data.spent_cents = centsUp(short.spentNano);
  data.resets_at = new Date(short.resetsAtMs).toISOString();
  if (short.outcome === "ceiling") {
    data.ceiling_cents = centsDown(short.ceilingNano);
    data.ceiling_period = short.period;
    return new GatewayError("api_key_limit_exceeded", { ...options, detail: { ...detail, period: short.period } });
  }
  data.cap_cents = centsDown(short.capNano);
  const untilReset = Math.ceil((short.resetsAtMs - nowMs) / 1000);
  return new GatewayError("inference_cap", {
    ...options,
    detail,
    retryAfterSeconds: temporary ? TEMPORARY_SECONDS : untilReset,
  });
}

function refusal(outcome: Exclude<Refused, Short>): GatewayError {
  switch (outcome.outcome) {
    case "slots":
      return new GatewayError(outcome.code, { detail: { limit: outcome.max }, retryAfterSeconds: 1 });
    case "window":
      return new GatewayError("rate_limited", {
        detail: { limit: outcome.limit, window_seconds: WINDOW_SECONDS },
        retryAfterSeconds: outcome.resetSeconds,
      });
    case "frozen":
      return new GatewayError("account_frozen");
    case "paused":
      return new GatewayError("key_paused");
    case "unknown_account":
    case "unknown_key":
      return new GatewayError("invalid_token", { detail: { detail: "This key has been revoked." } });
    case "clock_skew":
      return new GatewayError("clock_skew", { retryAfterSeconds: TEMPORARY_SECONDS });
    case "idempotency_in_progress":
      return new GatewayError("idempotency_in_progress", { retryAfterSeconds: TEMPORARY_SECONDS });
    case "idempotency_mismatch":
      return new GatewayError("idempotency_mismatch");
    case "idempotency_unknown":
      return new GatewayError("outcome_unknown", { data: { transaction_id: outcome.holdId } });
    case "exists":
      return new GatewayError("internal_error");
  }
}

/** The header's value counts per payer and key: nobody can meet another's answers. */
function idempotencyFor(plan: Plan, caller: Caller): ReserveRequest["idempotency"] {
  if (plan.idempotency === null) return null;
  const { key, fingerprint } = plan.idempotency;
  return { key: `${caller.payer.keyId} ${key}`, fingerprint, keepMs: IDEMPOTENCY_KEEP_MS };
}

function requestFor(plan: Plan, caller: Caller, requestId: string, deps: PipelineDeps): ReserveRequest {
  return {
    accountId: caller.payer.accountId,
    // The same random characters name the request and its transaction, so that one leads to the other.
    holdId: requestId.replace(/^req_/, "tx_"),
    keyId: caller.payer.keyId,
    parentId: null,
    amountNano: plan.quote.nano,
    slots: [{ scope: "account", max: caller.inFlightMax, code: "concurrency_limit" }, ...plan.slots],
    inference: plan.inference,
    owner: deps.owner,
    leaseMs: deps.leaseMs,
    onExpire: "void",
    requestId,
    operation: plan.operation,
    asked: plan.asked,
    effect: plan.effect,
    idempotency: idempotencyFor(plan, caller),
    nowMs: deps.clock.epochMs(),
    ...(deps.countsPaidCalls ? { window: { limit: caller.requestsPerMinute, seconds: WINDOW_SECONDS } } : {}),
  };
}

/** What the ledger says of the account's window, where it is the ledger that counts. */
function learnWindow(outcome: ReserveOutcome, limit: number, window: ToldWindow): void {
  const counted =
    outcome.outcome === "window" ? { ...outcome, remaining: 0 } : "window" in outcome ? outcome.window : null;
  if (counted == null) return;
  const { remaining, resetSeconds } = counted;
  window.learn({
    allowed: outcome.outcome !== "window",
    limit,
    remaining,
    resetSeconds,
    windowSeconds: WINDOW_SECONDS,
  });
}

/**
 * Places the hold for the most the plan can cost. Where that is refused for want of money, the plan's tighter bound is
 * asked for and tried once.
 */
export async function reserve(
  plan: Plan,
  { caller, window }: { readonly caller: Caller; readonly window: ToldWindow },
  requestId: string,
  deps: PipelineDeps,
): Promise<Hold | Replay | GatewayError> {
  const request = requestFor(plan, caller, requestId, deps);
  let amountNano = request.amountNano;
  try {
    let outcome = await deps.ledger.reserve(request);
    if (isShort(outcome) && plan.quote.tighten !== null) {
      const tighter = await plan.quote.tighten();
      if (tighter < amountNano) {
        amountNano = tighter;
        outcome = await deps.ledger.reserve({ ...request, amountNano });
      }
    }
    learnWindow(outcome, caller.requestsPerMinute, window);
    if (outcome.outcome === "held") return { accountId: request.accountId, holdId: request.holdId, amountNano };
    if (outcome.outcome === "idempotency_done") return { replayOf: outcome.holdId };
    if (isShort(outcome)) return shortError(outcome, plan, amountNano, request.nowMs);
    return refusal(outcome);
  } catch (cause) {
    // Where it is not known whether the hold was placed, a void releases it, or keeps it from being placed late.
    const nothingDone = cause instanceof GatewayError && cause.options.nothingDone;
    if (!nothingDone) deps.ledger.void(request, "reserve failed").catch(() => {});
    return new GatewayError("ledger_unavailable", { cause, retryAfterSeconds: TEMPORARY_SECONDS });
  }
}
