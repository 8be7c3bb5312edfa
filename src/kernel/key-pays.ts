// A caller with a key pays from the account's balance: checks that the key may pay for a plan, and opens the funds.
import { GatewayError } from "../core/errors.ts";
import type { Caller, Funds, OpenPlan, Payer, Plan } from "../core/plan.ts";
import { LedgerFunds, type LedgerFundsDeps, type PaidRequest } from "./ledger-funds.ts";

/** The payer of a call, and the funds that pay. */
export interface Paying {
  readonly payer: Payer;
  readonly funds: Funds;
}

/** The account as the payer of a plan; or why its key may not pay. */
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
