// Turns a ledger's refusal into the caller's error, with what would have been possible and when.
import { GatewayError } from "../core/errors.ts";
import { add, centsDown, centsUp, minus, type Nano, usdText } from "../core/money.ts";
import type { AccountPayer, Budget, Plan } from "../core/plan.ts";
import type { OverCeiling } from "../money/events/refusals.ts";
import type { ReserveOutcome } from "../money/ledger/model/ledger.ts";
import { INFERENCE_SCOPE, keyScope } from "../money/ledger/model/state.ts";
import { runOfScope } from "../money/ledger/model/windows.ts";
import { WINDOW_SECONDS } from "./windows.ts";

/** Retry-After where only running calls or an unavailable store are in the way. */
export const TEMPORARY_SECONDS = 5;

type Refused = Exclude<ReserveOutcome, { readonly outcome: "held" | "idempotency_done" }>;
type FullWindow = Extract<Refused, { readonly outcome: "window_full" }>;
type Short =
  | Extract<Refused, { readonly outcome: "insufficient" | "ceiling" | "inference_cap" }>
  | (FullWindow & { readonly counts: "charge" });

/** True if a smaller hold might have fitted. */
export function isShort(outcome: ReserveOutcome): outcome is Short {
  if (outcome.outcome === "window_full") return outcome.counts === "charge";
  const { outcome: is } = outcome;
  return is === "insufficient" || is === "ceiling" || is === "inference_cap";
}

function boundOf(short: Exclude<Short, { readonly outcome: "insufficient" }>): Nano {
  if (short.outcome === "ceiling") return short.ceilingNano;
  return short.outcome === "inference_cap" ? short.capNano : short.maxNano;
}

export function overCeiling(
  short: Exclude<Short, { readonly outcome: "insufficient" }>,
  { accountId, keyId }: AccountPayer,
): OverCeiling {
  const scope =
    short.outcome === "ceiling" ? keyScope(keyId) : short.outcome === "inference_cap" ? INFERENCE_SCOPE : short.scope;
  return { accountId, keyId, scope, maxNano: boundOf(short), resetsAtMs: short.resetsAtMs };
}

/** What is free now, and what would be free once the running calls have ended. */
export function room(short: Short): { freeNano: Nano; laterNano: Nano } {
  if (short.outcome === "insufficient") return { freeNano: short.freeNano, laterNano: short.balanceNano };
  const laterNano = minus(boundOf(short), add(short.spentNano, short.absorbedNano));
  return { freeNano: minus(laterNano, short.heldNano), laterNano };
}

/** The error has the amounts that would have been possible, and is temporary where only running calls are in the way. */
export function shortError(
  short: Short,
  { plan, amount, nowMs, budgets = [] }: { plan: Plan; amount: Nano; nowMs: number; budgets?: readonly Budget[] },
): GatewayError {
  const { freeNano, laterNano } = room(short);
  const temporary = laterNano >= amount;
  const detail = { needed_usd: usdText(amount), free_usd: usdText(freeNano) };
  const data: Record<string, unknown> = {
    needed_cents: centsUp(amount),
    free_cents: centsDown(freeNano),
    held_cents: centsUp(short.heldNano),
    ...plan.quote.affordable(freeNano),
  };
  if (temporary) data.temporary = true;
  const options = { data, retry: temporary, ...(temporary ? { retryAfterSeconds: TEMPORARY_SECONDS } : {}) };
  if (short.outcome === "insufficient") {
    data.balance_cents = centsDown(short.balanceNano);
    const code = plan.hold.kind === "kept" ? "credits_required" : "insufficient_balance";
    return new GatewayError(code, { ...options, detail });
  }
  const runId = short.outcome === "window_full" ? runOfScope(short.scope) : null;
  if (runId !== null && short.outcome === "window_full") {
    const sums = { budget_usd: usdText(short.maxNano), spent_usd: usdText(add(short.spentNano, short.absorbedNano)) };
    Object.assign(data, { run_id: runId, free_usd: usdText(freeNano), ...sums });
    return new GatewayError("run_budget_exceeded", { data, retry: false, detail: { ...detail, run: runId } });
  }
  data.spent_cents = centsUp(short.spentNano);
  // Absorbed cost counts against a ceiling and a cap like spent money, so that the figures add up to what is free.
  data.absorbed_cents = centsUp(short.absorbedNano);
  data.resets_at = new Date(short.resetsAtMs).toISOString();
  if (short.outcome === "ceiling") {
    data.ceiling_cents = centsDown(short.ceilingNano);
    data.ceiling_period = short.period;
    return new GatewayError("api_key_limit_exceeded", { ...options, detail: { ...detail, period: short.period } });
  }
  const budget =
    short.outcome === "window_full"
      ? budgets.find(({ scope, maxNano }) => scope === short.scope && maxNano !== null)
      : null;
  if (budget != null) {
    const { whose, period } = budget;
    Object.assign(data, { budget: whose, budget_cents: centsDown(boundOf(short)), budget_period: period });
    return new GatewayError("budget_exceeded", { ...options, detail: { ...detail, whose, period } });
  }
  data.cap_cents = centsDown(boundOf(short));
  const retryAfterSeconds = temporary ? TEMPORARY_SECONDS : secondsUntil(short.resetsAtMs, nowMs);
  const code = short.outcome === "window_full" ? short.code : "inference_cap";
  return new GatewayError(code, { ...options, detail, retryAfterSeconds });
}

function secondsUntil(atMs: number, nowMs: number): number {
  return Math.max(1, Math.ceil((atMs - nowMs) / 1000));
}

export function refusal(outcome: Exclude<Refused, Short> | FullWindow, nowMs: number): GatewayError {
  switch (outcome.outcome) {
    case "window_full":
      return new GatewayError(outcome.code, { retryAfterSeconds: secondsUntil(outcome.resetsAtMs, nowMs) });
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
      return new GatewayError("invalid_token", { detail: "This key has been revoked." });
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
