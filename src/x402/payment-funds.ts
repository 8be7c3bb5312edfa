// Funds from a payment on chain: the authorization is claimed before the call runs, and used when it has been served.
import type { Clock } from "../clock.ts";
import { GatewayError } from "../errors.ts";
import type { Leases } from "../kernel/ledger-funds.ts";
import { costBeside, costOf, postedLegs, upstreamOf } from "../kernel/legs.ts";
import { refusal } from "../kernel/refused-hold.ts";
import type { Audit, HoldRef, Money, PostRequest, ReserveRequest } from "../ledger/model/ledger.ts";
import { chargedCents, type Nano, ZERO } from "../money.ts";
import type { Observer } from "../observe/observer.ts";
import type { Capture, Charge, Funds, Held, Plan, Release, Repeated } from "../plan.ts";
import type { Records } from "../records/records.ts";
import { chargeOpen, HOUSE, lateId, unpaidWindows } from "./books.ts";
import type { Chain } from "./chain.ts";
import { inHeader, type Requirements } from "./challenge.ts";
import type { Facilitator } from "./facilitator.ts";
import { nameOf, type Payment } from "./read-payment.ts";
import { putReceipt, type Receipt, receiptOf } from "./receipts.ts";
import { makePayment, settleReceipt } from "./settle-receipt.ts";

/** Calls of one address at once, and of all of them. */
const IN_FLIGHT_MAX = 8;
const ALL_IN_FLIGHT_MAX = 512;
const IDEMPOTENCY_KEEP_MS = 24 * 3_600_000;
const RETRY_SECONDS = 5;

export interface PaymentDeps {
  readonly ledger: Money & Pick<Audit, "transaction">;
  readonly records: Records;
  readonly leases: Leases;
  readonly clock: Clock;
  readonly owner: string;
  readonly leaseMs: number;
  readonly facilitator: Facilitator;
  /** Null: no node is asked, and what a facilitator says is believed. */
  readonly chain: Chain | null;
  readonly unpaid: { readonly each: Nano; readonly all: Nano } | null;
  readonly observer: Pick<Observer, "unpaid">;
}

export interface PaymentParts {
  readonly payment: Payment;
  readonly requirements: Requirements;
  /** What the facilitator is asked with: the requirements in the payment's own version. */
  readonly asked: unknown;
  readonly requestId: string;
  /** The refusal of a payment, with a new challenge. */
  refused(reason: string): GatewayError;
}

export const PENDING = new GatewayError("settlement_pending", { retryAfterSeconds: RETRY_SECONDS });
const AWAY = new GatewayError("payments_unavailable", { retryAfterSeconds: RETRY_SECONDS });

export class PaymentFunds implements Funds {
  readonly #deps: PaymentDeps;
  readonly #parts: PaymentParts;

  constructor(deps: PaymentDeps, parts: PaymentParts) {
    this.#deps = deps;
    this.#parts = parts;
  }

  /** Claims the authorization, in the ledger and so for all processes, and has it looked at. Nothing is taken yet. */
  async reserve(plan: Plan, id: string): Promise<Held | Repeated | GatewayError> {
    const { ledger, leases, facilitator, clock, records } = this.#deps;
    const { payment, asked, refused } = this.#parts;
    const request = this.#request(plan, id);
    const outcome = await ledger.reserve(request);
    if (outcome.outcome === "idempotency_done") return this.#again(outcome.holdId);
    if (outcome.outcome === "insufficient" || outcome.outcome === "ceiling" || outcome.outcome === "inference_cap")
      throw new Error(`a hold of nothing was refused: ${outcome.outcome}`);
    if (outcome.outcome !== "held") return refusal(outcome, clock.epochMs());
    leases.keep(request);
    // A process that died behind the settlement of a call has left its claim free, and its payment made.
    const tried = await receiptOf(records, payment);
    const verdict = tried === null ? await facilitator.verify(payment, asked) : null;
    if (verdict !== null && verdict !== "away" && verdict.valid) return { id, amountNano: plan.quote.nano };
    leases.release(request);
    await ledger.void(request, "its payment is not good");
    if (verdict === null) return this.#again(tried?.receipt.id ?? id);
    return verdict === "away" ? AWAY : refused(verdict.reason);
  }

  /** The same authorization once more: its call has ended, and whether it is paid may still be open. */
  async #again(id: string): Promise<Repeated | GatewayError> {
    const stored = await receiptOf(this.#deps.records, this.#parts.payment);
    // What was free has taken nothing.
    if (stored === null || stored.receipt.state === "settled") return { replayOf: id };
    const settled = await settleReceipt(stored, this.#deps);
    if (settled === "settled") return { replayOf: id };
    return settled === "open" ? PENDING : this.#parts.refused("it could not be settled");
  }

  async capture({ id }: Held, { cost, served, legs, tags = [] }: Capture): Promise<Charge | GatewayError> {
    const { ledger, leases, records, leaseMs, clock, observer } = this.#deps;
    const { payment, asked, refused } = this.#parts;
    const hold: HoldRef = { accountId: HOUSE, holdId: id };
    const post: PostRequest = {
      ...hold,
      amountNano: cost.chargeNano,
      upstreamNano: upstreamOf(legs),
      absorbReason: "usage_above_hold",
      provider: served.provider,
      served: served.model,
      usage: cost.usage,
      estimated: cost.estimated,
      priceVersion: cost.priceVersion,
      legs: postedLegs(legs),
      ...costBeside(legs),
      tags,
    };
    try {
      if (cost.chargeNano === ZERO) {
        await ledger.post(post);
        observer.unpaid(ZERO, costOf(legs));
        return chargeOf(id, ZERO, {});
      }
      const sinceMs = Math.floor(clock.epochMs());
      const receipt: Receipt = {
        id,
        payment,
        asked,
        amountNano: cost.chargeNano,
        state: "open",
        transaction: null,
        sinceMs,
      };
      await putReceipt(records, receipt, null);
      const made = await makePayment(receipt, this.#deps);
      if (made !== "unknown" && "transaction" in made) {
        const { transaction } = made;
        await chargeOpen(ledger, { ...receipt, transaction }, post, leaseMs);
        await putReceipt(records, { ...receipt, state: "settled", transaction }, null);
        observer.unpaid(cost.chargeNano, costOf(legs));
        return chargeOf(id, cost.chargeNano, receiptHeaders(payment, transaction));
      }
      // The work is done and not paid: the answer stays kept under the authorization, for whoever sends it again.
      await ledger.post({ ...post, amountNano: ZERO });
      observer.unpaid(ZERO, costOf(legs));
      if (made === "unknown") return PENDING;
      await putReceipt(records, { ...receipt, state: "refused" }, null);
      return refused(made.refused);
    } finally {
      leases.release(hold);
    }
  }

  async release({ id }: Held, { reason, keyFate, legs }: Release): Promise<void> {
    const { ledger, leases, observer } = this.#deps;
    const hold: HoldRef = { accountId: HOUSE, holdId: id };
    try {
      const upstreamNano = costOf(legs);
      const { outcome } = await ledger.void(hold, reason, { keyFate, upstreamNano });
      if (outcome === "voided") observer.unpaid(ZERO, upstreamNano);
    } finally {
      leases.release(hold);
    }
  }

  async balance(): Promise<null> {
    return null;
  }

  async charged(id: string): Promise<Charge | null> {
    const { ledger, records } = this.#deps;
    const [stored, own, late] = await Promise.all([
      receiptOf(records, this.#parts.payment),
      ledger.transaction(HOUSE, id),
      ledger.transaction(HOUSE, lateId(id)),
    ]);
    if (own === null && late === null) return null;
    const transaction = stored?.receipt.transaction ?? null;
    const headers = stored === null || transaction === null ? {} : receiptHeaders(stored.receipt.payment, transaction);
    return chargeOf(id, (late ?? own)?.amountNano ?? ZERO, headers);
  }

  #request(plan: Plan, id: string): ReserveRequest {
    const { owner, leaseMs, clock, unpaid } = this.#deps;
    const { payment, requestId } = this.#parts;
    const inFlight = { code: "concurrency_limit" } as const;
    return {
      accountId: HOUSE,
      holdId: id,
      keyId: HOUSE,
      parentId: null,
      amountNano: ZERO,
      slots: [
        { ...inFlight, scope: `x402 ${payment.from}`, max: IN_FLIGHT_MAX },
        { ...inFlight, scope: "x402", max: ALL_IN_FLIGHT_MAX },
        ...plan.slots,
      ],
      inference: false,
      windows: unpaidWindows(payment.from, unpaid),
      owner,
      leaseMs,
      onExpire: "void",
      requestId,
      operation: plan.operation,
      asked: plan.asked,
      effect: plan.effect,
      idempotency: {
        key: nameOf(payment),
        fingerprint: plan.idempotency?.fingerprint ?? plan.asked,
        keepMs: IDEMPOTENCY_KEEP_MS,
      },
      nowMs: clock.epochMs(),
    };
  }
}

function chargeOf(id: string, chargedNano: Nano, headers: Readonly<Record<string, string>>): Charge {
  return {
    transactionId: id,
    chargedNano,
    chargedCents: chargedCents(ZERO, chargedNano),
    absorbedNano: ZERO,
    absorbReason: null,
    balanceNano: null,
    headers,
  };
}

/** The receipt, in the version of the payment. */
function receiptHeaders({ version, network, from, sent }: Payment, transaction: string): Record<string, string> {
  const told = version === 1 ? String(sent.network) : network;
  const receipt = inHeader({ success: true, transaction, network: told, payer: from });
  return { [version === 1 ? "x-payment-response" : "payment-response"]: receipt, "cache-control": "private" };
}
