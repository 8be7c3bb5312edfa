// A payment of zero proves an address and is never settled: with it a payer without an account requests what it owns.
import type { GatewayError } from "../../core/errors.ts";
import type { Funds } from "../../core/plan.ts";
import { AWAY, type PaymentDeps } from "./claim.ts";
import type { Payment } from "./read-payment.ts";

/** Null: the address signed the payment. */
export async function disproof(
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

export const NO_FUNDS: Funds = {
  reserve: holdsNothing,
  capture: holdsNothing,
  release: holdsNothing,
  balance: async () => null,
  charged: async () => null,
};
