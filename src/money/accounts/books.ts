// The part of the ledger that the account endpoints need. The ledger itself has this shape and is passed in.
import type {
  Accounts,
  PeriodSums,
  PostingPage,
  PostingQuery,
  PostingRow,
  RefundOutcome,
  ScopeOfPeriod,
  TopUpOutcome,
} from "../../core/account-rows.ts";
import type { Nano } from "../../core/money.ts";
import type { Reports } from "../../core/usage-rows.ts";

/** What authenticating a paid request reads. */
export type KeyBooks = Pick<Accounts, "keyByHash" | "key" | "account">;

export interface Books extends Accounts, Reports {
  topUp(accountId: string, transactionId: string, amountNano: Nano, reference: string): Promise<TopUpOutcome>;
  refund(transactionId: string, refundId: string, reason: string): Promise<RefundOutcome>;
  transaction(accountId: string | null, transactionId: string): Promise<PostingRow | null>;
  transactions(query: PostingQuery): Promise<PostingPage>;
  /** The spending of each scope on the account's current day. */
  spentToday(accountId: string, scopes: readonly string[]): Promise<readonly Nano[]>;
  /** The sums of each scope in the account's current period. */
  periodSums(accountId: string, asked: readonly ScopeOfPeriod[]): Promise<readonly PeriodSums[]>;
  doctor(): Promise<{ readonly findings: readonly unknown[] }>;
  /** Writes a consistent copy to `path`. Rejects where that exists. */
  backup(path: string): Promise<void>;
}
