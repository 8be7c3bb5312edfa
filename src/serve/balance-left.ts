// What a caller has left whose call came to nothing, for the wires that say so.
import type { Endpoint } from "../endpoint.ts";
import type { ErrorCode, GatewayError } from "../errors.ts";
import { minus, type Nano } from "../money.ts";
import type { ServeDeps } from "./deps.ts";

/** The call was turned away to spare the ledger, or because the ledger is away: it is not asked for the sake of the error. */
const NOT_ASKED: ReadonlySet<ErrorCode> = new Set(["rate_limited", "ledger_unavailable", "clock_skew", "draining"]);

/** The account's balance; null where the wire does not say it, where no payer is known, and where the ledger does not know. */
export async function balanceLeft(
  error: GatewayError,
  accountId: string | null,
  { errors }: Endpoint,
  { ledger }: ServeDeps,
): Promise<Nano | null> {
  if (errors.tellsBalance === undefined || accountId === null || NOT_ASKED.has(error.code)) return null;
  try {
    const account = await ledger.account(accountId);
    return account === null ? null : minus(account.grantedNano, account.spentNano);
  } catch {
    return null;
  }
}
