// What the accounts' endpoints need of the ledger. The ledger itself fits this shape and is handed in.
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

/** Who may call: all that is asked on the way of a paid request. */
export type KeyBooks = Pick<Accounts, "keyByHash" | "key" | "account">;

export interface Books extends Accounts, Reports {
  topUp(accountId: string, transactionId: string, amountNano: Nano, reference: string): Promise<TopUpOutcome>;
  refund(transactionId: string, refundId: string, reason: string): Promise<RefundOutcome>;
  transaction(accountId: string | null, transactionId: string): Promise<PostingRow | null>;
  transactions(query: PostingQuery): Promise<PostingPage>;
  /** What each of these scopes has spent on the account's present day. */
  spentToday(accountId: string, scopes: readonly string[]): Promise<readonly Nano[]>;
  /** What each of these scopes has come to in the account's present period. */
  periodSums(accountId: string, asked: readonly ScopeOfPeriod[]): Promise<readonly PeriodSums[]>;
  doctor(): Promise<{ readonly findings: readonly unknown[] }>;
  /** Writes a consistent copy to `path`, which must not exist; rejects otherwise. */
  backup(path: string): Promise<void>;
}
