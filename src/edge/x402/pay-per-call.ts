// Access without a key: states the price, accepts a payment instead, and identifies the payer by the address that signed.
import type { Accounts } from "../../core/account-rows.ts";
import type { GatewayRequest } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { add, chargedCents, type Nano, ZERO } from "../../core/money.ts";
import type { Capture, Charge, Funds, Held, OpenPlan, Payer, Plan, Release, Repeated } from "../../core/plan.ts";
import type { Paying } from "../../kernel/key-pays.ts";
import { costBeside, costOf, postedLegs, upstreamOf } from "../../kernel/legs.ts";
import type { HoldRef, PostRequest } from "../../money/ledger/model/ledger.ts";
import type { Observer } from "../../platform/observe/observer.ts";
import { chargeOpen, lateId, PLAY_HOUSE } from "./books.ts";
import { inHeader, paymentRequired, type Resource, requirementsOf, requirementsV1, type Terms } from "./challenge.ts";
import { AWAY, claim, type PaymentDeps, PENDING } from "./claim.ts";
import { misfit, type Payment, readPayment } from "./read-payment.ts";
import { putReceipt, type Receipt, receiptOf } from "./receipts.ts";
import { makePayment } from "./settle-receipt.ts";

// Funds from an on-chain payment: the authorization is claimed before the call runs, and settled after it was served.

export interface FundsDeps extends PaymentDeps {
  readonly observer: Pick<Observer, "unpaid" | "settled">;
}

interface PaymentParts {
  readonly payment: Payment;
  /** The requirements for the facilitator, in the payment's own version. */
  readonly asked: unknown;
  readonly requestId: string;
  refused(reason: string): GatewayError;
}

export class PaymentFunds implements Funds {
  readonly #deps: FundsDeps;
  readonly #parts: PaymentParts;

  constructor(deps: FundsDeps, parts: PaymentParts) {
    this.#deps = deps;
    this.#parts = parts;
  }

  async reserve(plan: Plan, id: string): Promise<Held | Repeated | GatewayError> {
    const { payment, asked: paidFor, requestId, refused } = this.#parts;
    const { slots, operation, asked, effect, idempotency, wholeMsMax: workMsMax } = plan;
    const fingerprint = idempotency?.fingerprint ?? asked;
    const paid = { id, payment, paidFor, fingerprint, requestId, workMsMax, refused };
    const claimed = await claim({ ...paid, slots, operation, asked, effect }, this.#deps);
    if (claimed === "claimed") return { id, amountNano: plan.quote.nano };
    return claimed instanceof GatewayError ? claimed : { replayOf: claimed.again };
  }

  async capture({ id, amountNano }: Held, { cost, served, legs, tags = [] }: Capture): Promise<Charge | GatewayError> {
    const { house, ledger, leases, records, leaseMs, clock, observer, settlementNano } = this.#deps;
    const { payment, asked, refused } = this.#parts;
    const hold: HoldRef = { accountId: house, holdId: id };
    // A payment is made in full or not at all: what sells at its bound costs the bound, whatever it used.
    const chargeNano = cost.chargeNano === ZERO ? ZERO : amountNano;
    const post: PostRequest = {
      ...hold,
      amountNano: chargeNano,
      upstreamNano: upstreamOf(legs),
      absorbReason: "usage_above_hold",
      provider: served.provider,
      served: served.model,
      usage: cost.usage,
      estimated: cost.estimated,
      priceVersion: cost.priceVersion,
      legs: postedLegs(legs),
      beside: costBeside(legs),
      tags,
    };
    try {
      if (chargeNano === ZERO) {
        await ledger.post(post);
        observer.unpaid(ZERO, costOf(legs));
        return chargeOf(id, ZERO, {});
      }
      const sinceMs = Math.floor(clock.epochMs());
      const receipt: Receipt = {
        id,
        payment,
        house,
        asked,
        amountNano: chargeNano,
        state: "open",
        transaction: null,
        sinceMs,
      };
      const version = await putReceipt(records, receipt, null);
      const made = await makePayment(receipt, this.#deps);
      if (made !== "unknown" && "transaction" in made) {
        const { transaction } = made;
        await chargeOpen(ledger, { ...receipt, transaction, settlementNano }, post, leaseMs);
        await putReceipt(records, { ...receipt, state: "settled", transaction }, null);
        observer.unpaid(chargeNano, add(costOf(legs), settlementNano));
        return chargeOf(id, chargeNano, receiptHeaders(payment, transaction));
      }
      // The work is done and unpaid: the answer stays stored under the authorization, for a caller who sends it again.
      await ledger.post({ ...post, amountNano: ZERO });
      observer.unpaid(ZERO, costOf(legs));
      if (made === "unknown") return PENDING;
      // The hold has ended: if another process has found the payment made since then, its result stands.
      const kept = await putReceipt(records, { ...receipt, state: "refused" }, version);
      return kept === null ? PENDING : refused(made.refused);
    } finally {
      leases.release(hold);
    }
  }

  async release({ id }: Held, { reason, keyFate, legs }: Release): Promise<void> {
    const { house, ledger, leases, observer } = this.#deps;
    const hold: HoldRef = { accountId: house, holdId: id };
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
    const { house, ledger, records } = this.#deps;
    const [stored, own, late] = await Promise.all([
      receiptOf(records, this.#parts.payment),
      ledger.transaction(house, id),
      ledger.transaction(house, lateId(id)),
    ]);
    if (own === null && late === null) return null;
    const transaction = stored?.receipt.transaction ?? null;
    const headers = stored === null || transaction === null ? {} : receiptHeaders(stored.receipt.payment, transaction);
    return chargeOf(id, (late ?? own)?.amountNano ?? ZERO, headers);
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

export function receiptHeaders({ version, network, from, sent }: Payment, transaction: string): Record<string, string> {
  const told = version === 1 ? String(sent.network) : network;
  const receipt = inHeader({ success: true, transaction, network: told, payer: from });
  return { [version === 1 ? "x-payment-response" : "payment-response"]: receipt, "cache-control": "private" };
}

/** Null: the address signed the payment. */
async function disproof(
  payment: Payment,
  paidFor: unknown,
  { facilitator, refused }: Pick<PaymentDeps, "facilitator"> & { refused(reason: string): GatewayError },
): Promise<GatewayError | null> {
  const verdict = await facilitator.verify(payment, paidFor);
  if (verdict === "away") return AWAY;
  return verdict.valid ? null : refused(verdict.reason);
}

async function holdsNothing(): Promise<never> {
  throw new Error("a free call has nothing to pay");
}

const NO_FUNDS: Funds = {
  reserve: holdsNothing,
  capture: holdsNothing,
  release: holdsNothing,
  balance: async () => null,
  charged: async () => null,
};

export interface PayPerCallParts extends FundsDeps {
  readonly ledger: FundsDeps["ledger"] & Pick<Accounts, "account">;
  readonly terms: Terms;
  readonly publicUrl: () => string;
  /** The resource sold under the name in a plan. */
  readonly describe: (asked: string) => Pick<Resource, "description" | "bazaar">;
}

export interface Door {
  pay(plan: Plan | OpenPlan, request: GatewayRequest): Promise<Paying | GatewayError>;
}

export function createPayPerCall(parts: PayPerCallParts): Door {
  const { terms, publicUrl, describe, clock } = parts;
  const isPlay = parts.house === PLAY_HOUSE;
  return {
    async pay(plan, request) {
      if (plan.exactPrice !== true) return new GatewayError("x402_not_sellable", { detail: { asked: plan.asked } });
      const { network } = terms;
      const requirements = requirementsOf(plan.quote.nano, terms);
      const resource: Resource = { url: `${publicUrl()}${request.path}`, ...describe(plan.asked) };
      const refused = (reason: string | null) => paymentRequired({ requirements, network, resource, refused: reason });
      const payment = readPayment(request.headers, network);
      if (payment === null) return refused(null);
      if (payment instanceof GatewayError) return payment;
      const reason = misfit(payment, requirements, network, clock.epochMs());
      if (reason !== null) return refused(reason);
      const asked = payment.version === 2 ? requirements : requirementsV1(requirements, network, resource);
      const payer: Payer = isPlay
        ? { id: `x402:sandbox:${payment.from}`, sandbox: true }
        : { id: `x402:${payment.from}`, sandbox: false };
      if (plan.quote.nano === ZERO) {
        const disproved = await disproof(payment, asked, { ...parts, refused });
        return disproved ?? { payer, funds: NO_FUNDS };
      }
      const funds = new PaymentFunds(parts, { payment, asked, requestId: request.id, refused });
      return { payer, funds };
    },
  };
}
