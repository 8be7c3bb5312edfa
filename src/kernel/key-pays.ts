// A caller with a key pays from the account's balance: whether the key may pay for a plan, and the funds that do.
import { GatewayError } from "../core/errors.ts";
import type { Caller, Funds, OpenPlan, Payer, Plan } from "../core/plan.ts";
import type { WindowState } from "../platform/limits/request-windows.ts";
import { LedgerFunds, type LedgerFundsDeps } from "./ledger-funds.ts";

/** The payer of a call, and what the call is paid with. */
export interface Paying {
  readonly payer: Payer;
  readonly funds: Funds;
}

/** The request that is paid for, for its hold; `onWindow` is told how many requests the account has left. */
export interface PaidRequest {
  readonly requestId: string;
  onWindow(window: WindowState): void;
}

/** The account as the payer of a plan, whatever the door through which the caller came; or why its key may not pay. */
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
