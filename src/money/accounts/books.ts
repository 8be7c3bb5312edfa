// The part of the ledger that the account endpoints need.
import type { Accounts } from "../../core/account-rows.ts";
import type { Reports } from "../../core/usage-rows.ts";
import type { Audit, Money } from "../ledger/model/ledger.ts";

/** What authenticating a paid request reads. */
export type KeyBooks = Pick<Accounts, "keyByHash" | "key" | "account">;

export interface Books
  extends Accounts,
    Reports,
    Pick<Money, "topUp" | "refund">,
    Pick<Audit, "transaction" | "transactions" | "spentToday" | "periodSums" | "doctor" | "backup"> {}
