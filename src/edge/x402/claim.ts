// An authorization pays for one thing: it is claimed in the ledger, and so across all processes, before any work starts.
import { GatewayError } from "../../core/errors.ts";
import { type Nano, ZERO } from "../../core/money.ts";
import type { Leases } from "../../kernel/ledger-funds.ts";
import { refusal } from "../../kernel/refused-hold.ts";
import { HOUSE_HOLD } from "../../money/accounts/house-account.ts";
import type { Money, ReserveOutcome, ReserveRequest } from "../../money/ledger/model/ledger.ts";
import { unpaidWindows } from "./books.ts";
import type { Verdict } from "./facilitator.ts";
import { nameOf, type Payment } from "./read-payment.ts";
import { receiptOf, type StoredReceipt } from "./receipts.ts";
import { type SettleDeps, settleReceipt } from "./settle-receipt.ts";

/** Concurrent calls of one address, and of all addresses. */
const IN_FLIGHT_MAX = 8;
const ALL_IN_FLIGHT_MAX = 512;
const KEEP_MS = 24 * 3_600_000;
const RETRY_SECONDS = 5;
/** From the end of the work to a block with the payment. */
const SETTLE_MS = 30_000;
/** Required at most, however long the work may take: a challenge names ten minutes, and sending the payment takes some. */
const LIFE_MS_MOST = 540_000;
/** A payment that was refused again is not retried for this long: its sender pays nothing for retries. */
const REFUSED_REST_MS = 10_000;

export interface PaymentDeps extends SettleDeps {
  readonly leases: Leases;
  readonly unpaid: { readonly each: Nano; readonly all: Nano } | null;
}

export interface Claim extends Pick<ReserveRequest, "slots" | "requestId" | "operation" | "asked" | "effect"> {
  readonly id: string;
  readonly payment: Payment;
  /** The fingerprint of what it pays for; with another one the claim is refused. */
  readonly fingerprint: string;
  /** The requirements for the facilitator, in the payment's own version. */
  readonly paidFor: unknown;
  /** The longest duration of the paid work, in milliseconds. */
  readonly workMsMax: number;
  refused(reason: string): GatewayError;
}

export const PENDING = new GatewayError("settlement_pending", { retryAfterSeconds: RETRY_SECONDS });
export const AWAY = new GatewayError("payments_unavailable", { retryAfterSeconds: RETRY_SECONDS });

/** Claims and verifies an authorization; takes no money yet. `again`: it has paid for the call of this id. The claiming call ends it. */
export async function claim(
  asked: Claim,
  deps: PaymentDeps,
): Promise<"claimed" | { readonly again: string } | GatewayError> {
  const { ledger, leases, clock, records } = deps;
  const { id, payment, refused } = asked;
  const request = requestOf(asked, deps);
  const outcome = await placed(request, ledger);
  if (outcome.outcome === "idempotency_done") return paidBefore(outcome.holdId, asked, deps);
  if (outcome.outcome === "insufficient" || outcome.outcome === "ceiling" || outcome.outcome === "inference_cap")
    throw new Error(`a hold of nothing was refused: ${outcome.outcome}`);
  if (outcome.outcome !== "held") return refusal(outcome, clock.epochMs());
  leases.keep(request);
  let tried: StoredReceipt | null;
  let verdict: Verdict | null;
  const ended = (why: string) => {
    leases.release(request);
    return ledger.void(request, why);
  };
  try {
    // A process that died after a settlement left its claim free and its payment made.
    tried = await receiptOf(records, payment);
    verdict = tried === null ? await verdictOf(asked, deps) : null;
  } catch (error) {
    await ended("its payment could not be looked at").catch(() => {});
    throw error;
  }
  if (verdict !== null && verdict !== "away" && verdict.valid) return "claimed";
  await ended("its payment is not good");
  if (verdict === null) return paidBefore(tried?.receipt.id ?? id, asked, deps);
  return verdict === "away" ? AWAY : refused(verdict.reason);
}

/** Where it is unknown whether the hold was placed, a void releases it or prevents its late placement. */
async function placed(request: ReserveRequest, ledger: Money): Promise<ReserveOutcome> {
  try {
    return await ledger.reserve(request);
  } catch (cause) {
    const nothingDone = cause instanceof GatewayError && cause.options.nothingDone;
    if (!nothingDone) ledger.void(request, "reserve failed").catch(() => {});
    throw cause;
  }
}

/** Refuses a payment that would expire before settlement: the work would be done and never paid. */
async function verdictOf({ payment, paidFor, workMsMax }: Claim, { facilitator, clock }: PaymentDeps) {
  const lifeMsMin = Math.min(workMsMax + SETTLE_MS, LIFE_MS_MOST);
  if (payment.validBefore * 1_000 < clock.epochMs() + lifeMsMin)
    return { valid: false, reason: `it is good for less than ${Math.ceil(lifeMsMin / 1_000)} seconds` } as const;
  return facilitator.verify(payment, paidFor);
}

/** The same authorization again: its call has ended, and the payment's outcome may still be unknown. */
async function paidBefore(id: string, { payment, refused }: Claim, deps: PaymentDeps) {
  const stored = await receiptOf(deps.records, payment);
  // A free call has taken nothing.
  if (stored === null || stored.receipt.state === "settled") return { again: id };
  const { state: before, retriedMs = 0 } = stored.receipt;
  const isResting = before === "refused" && deps.clock.epochMs() - retriedMs < REFUSED_REST_MS;
  const state = isResting ? before : await settleReceipt(stored, deps);
  if (state === "settled") return { again: id };
  return state === "open" ? PENDING : refused("it could not be settled");
}

function requestOf(claimed: Claim, { house, owner, leaseMs, clock, unpaid }: PaymentDeps): ReserveRequest {
  const { id, payment, fingerprint, slots, requestId, operation, asked, effect } = claimed;
  const inFlight = { code: "concurrency_limit" } as const;
  return {
    ...HOUSE_HOLD,
    accountId: house,
    holdId: id,
    keyId: house,
    amountNano: ZERO,
    slots: [
      { ...inFlight, scope: `x402 ${payment.from}`, max: IN_FLIGHT_MAX },
      { ...inFlight, scope: "x402", max: ALL_IN_FLIGHT_MAX },
      ...slots,
    ],
    windows: unpaidWindows(payment.from, unpaid),
    owner,
    leaseMs,
    requestId,
    operation,
    asked,
    effect,
    idempotency: { key: nameOf(payment), fingerprint, keepMs: KEEP_MS },
    nowMs: clock.epochMs(),
  };
}
