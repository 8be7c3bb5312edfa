// Access without a key: states the price, accepts a payment instead, and identifies the payer by the address that signed.
import type { Accounts } from "../../core/account-rows.ts";
import type { GatewayRequest } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { ZERO } from "../../core/money.ts";
import type { Funds, OpenPlan, Payer, Plan } from "../../core/plan.ts";
import type { Paying } from "../../kernel/key-pays.ts";
import { PLAY_HOUSE } from "./books.ts";
import { paymentRequired, type Resource, requirementsOf, requirementsV1, type Terms } from "./challenge.ts";
import { AWAY, type PaymentDeps } from "./claim.ts";
import { type FundsDeps, PaymentFunds } from "./payment-funds.ts";
import { misfit, type Payment, readPayment } from "./read-payment.ts";

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
