// Access without a key: states the price, accepts a payment instead, and identifies the payer by the address that signed.

import type { Accounts } from "../../core/account-rows.ts";
import type { GatewayRequest } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { add, chargedCents, type Nano, ZERO } from "../../core/money.ts";
import type { Capture, Charge, Funds, Held, OpenPlan, Payer, Plan, Release, Repeated } from "../../core/plan.ts";
import type { Paying } from "../../kernel/key-pays.ts";
import { costBeside, costOf, postedLegs, upstreamOf } from "../../kernel/legs.ts";
import type { HoldRef, PostRequest } from "../../money/ledger/model/ledger.ts";
import { chargeOpen, lateId, PLAY_HOUSE } from "./books.ts";
import { inHeader, paymentRequired, type Resource, requirementsOf, requirementsV1, type Terms } from "./challenge.ts";
import type { Claim } from "./claim.ts";
import { AWAY, claim, type PaymentDeps, PENDING } from "./claim.ts";
import { misfit, type Payment, readPayment } from "./read-payment.ts";
import { putReceipt, type Receipt, receiptOf } from "./receipts.ts";
import { makePayment } from "./settle-receipt.ts";

// Funds from an on-chain payment: the authorization is claimed before the call runs, and settled after it was served.

type PaymentParts = Pick<Claim, "payment" | "paidFor" | "requestId" | "refused">;

export class PaymentFunds implements Funds {
  readonly #deps: PaymentDeps;
  readonly #parts: PaymentParts;

  constructor(deps: PaymentDeps, parts: PaymentParts) {
    this.#deps = deps;
    this.#parts = parts;
  }

  async reserve(plan: Plan, id: string): Promise<Held | Repeated | GatewayError> {
    const { slots, operation, asked, effect, idempotency, wholeMsMax: workMsMax } = plan;
    const fingerprint = idempotency?.fingerprint ?? asked;
    const work = { id, fingerprint, workMsMax, slots, operation, asked, effect };
    const claimed = await claim({ ...work, ...this.#parts }, this.#deps);
    if (claimed === "claimed") return { id, amountNano: plan.quote.nano };
    return claimed instanceof GatewayError ? claimed : { replayOf: claimed.again };
  }

  async capture({ id, amountNano }: Held, { cost, served, legs, tags = [] }: Capture): Promise<Charge | GatewayError> {
    const { house, ledger, leases, records, leaseMs, clock, observer, settlementNano } = this.#deps;
    const { payment, paidFor: asked, refused } = this.#parts;
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
      const now = { state: "open", transaction: null, sinceMs: Math.floor(clock.epochMs()) } as const;
      const receipt: Receipt = { id, payment, house, asked, amountNano: chargeNano, ...now };
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

export interface PayPerCallParts extends PaymentDeps {
  readonly ledger: PaymentDeps["ledger"] & Pick<Accounts, "account">;
  readonly terms: Terms;
  readonly publicUrl: () => string;
  readonly describe: (asked: string) => Pick<Resource, "description" | "bazaar">;
}

export interface Door {
  pay(plan: Plan | OpenPlan, request: GatewayRequest): Promise<Paying | GatewayError>;
}

/** The payment that a request carries for a resource; an error where it has none, or one that does not match. */
export function paymentOf(
  { headers, id: requestId }: GatewayRequest,
  priceNano: Nano,
  resource: Resource,
  { terms, clock }: Pick<PayPerCallParts, "terms" | "clock">,
): PaymentParts | GatewayError {
  const { network } = terms;
  const requirements = requirementsOf(priceNano, terms);
  const refused = (reason: string | null) => paymentRequired({ requirements, network, resource, refused: reason });
  const payment = readPayment(headers, network);
  if (payment === null) return refused(null);
  if (payment instanceof GatewayError) return payment;
  const reason = misfit(payment, requirements, network, clock.epochMs());
  if (reason !== null) return refused(reason);
  const paidFor = payment.version === 2 ? requirements : requirementsV1(requirements, network, resource);
  return { payment, paidFor, requestId, refused };
}

export function createPayPerCall(parts: PayPerCallParts): Door {
  const isPlay = parts.house === PLAY_HOUSE;
  return {
    async pay(plan, request) {
      if (plan.exactPrice !== true) return new GatewayError("x402_not_sellable", { detail: { asked: plan.asked } });
      const resource: Resource = { url: `${parts.publicUrl()}${request.path}`, ...parts.describe(plan.asked) };
      const paid = paymentOf(request, plan.quote.nano, resource, parts);
      if (paid instanceof GatewayError) return paid;
      const { payment, paidFor, refused } = paid;
      const payer: Payer = { id: `x402:${isPlay ? "sandbox:" : ""}${payment.from}`, sandbox: isPlay };
      if (plan.quote.nano !== ZERO) return { payer, funds: new PaymentFunds(parts, paid) };
      const verdict = await parts.facilitator.verify(payment, paidFor);
      if (verdict === "away") return AWAY;
      return verdict.valid ? { payer, funds: NO_FUNDS } : refused(verdict.reason);
    },
  };
}
