// The books as a whole, as a store answers for them: it says where its postings and sums are and runs what it is asked.
import type { PostingRow } from "../../../core/account-rows.ts";
import type { Reports, TooWide, UsagePage, UsageQuery } from "../../../core/usage-rows.ts";
import type { Value } from "../../../platform/storage/reading-thread.ts";
import { searchPostings } from "./search.ts";
import type { Dialect, Statement } from "./statement.ts";
import type { SumTables } from "./sums.ts";
import { readUsage } from "./usage.ts";

export type Row = Readonly<Record<string, Value>>;

/** A store's way of answering. */
export interface AskReports {
  readonly tables: SumTables;
  readonly dialect: Dialect;
  /** Each posting names the one before it of its account and of its key; else an index has them by account. */
  readonly linked: boolean;
  /** Selects the ids of the sandbox accounts, where they are kept beside the postings; null: who asks says which they are. */
  readonly sandboxAccounts: string | null;
  /** Runs beside the calls that go on, on a connection of its own. */
  ask(statement: Statement): Promise<readonly Row[]>;
}

/** Reports over postings that have no accounts beside them are told which of all are sandbox accounts. */
export interface ToldReports extends Reports {
  usage(query: UsageQuery, sandboxAccounts?: readonly string[]): Promise<UsagePage | TooWide>;
}

export function reportsOf(books: AskReports, rowOf: (row: Row) => PostingRow): ToldReports {
  return {
    usage: (query, sandboxAccounts = []) => readUsage(query, books, sandboxAccounts),
    search: (query) => searchPostings(query, books, rowOf),
  };
}
