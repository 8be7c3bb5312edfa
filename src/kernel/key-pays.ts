// Payment by API key from the account's balance: checks that the key may pay for a plan, and opens the funds.
import { GatewayError } from "../core/errors.ts";
import type { Caller, Funds, OpenPlan, Payer, Plan } from "../core/plan.ts";
import { LedgerFunds, type LedgerFundsDeps, type PaidRequest } from "./ledger-funds.ts";

export interface Paying {
  readonly payer: Payer;
  readonly funds: Funds;
}

/** The account as payer of a plan, or the reason why its key may not pay. */
export function keyPays(
  plan: Plan | OpenPlan,
  caller: Caller,
  request: PaidRequest,
  deps: LedgerFundsDeps,
): Paying | GatewayError {
  if (caller.frozen) return new GatewayError("account_frozen");
  if (caller.paused && !plan.whilePaused) return new GatewayError("key_paused");
  return { payer: caller.payer, funds: new LedgerFunds(deps, caller, request) };
}
