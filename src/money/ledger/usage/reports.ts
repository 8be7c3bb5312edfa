// What a store provides for reports: where its postings and sums are, and a way to run queries.
import type { Reports, TooWide, UsagePage, UsageQuery } from "../../../core/usage-rows.ts";
import type { Row } from "../archive/rows.ts";
import { readRunPostings, searchPostings } from "./search.ts";
import type { Dialect, Statement } from "./statement.ts";
import type { SumTables } from "./sums.ts";
import { readUsage } from "./usage.ts";

export interface AskReports {
  readonly tables: SumTables;
  readonly dialect: Dialect;
  /** True where each posting links to the previous one of its account and key; else an index by account exists. */
  readonly linked: boolean;
  /** A query for the ids of sandbox accounts, where the store has accounts; null: the caller passes the ids. */
  readonly sandboxAccounts: string | null;
  /** A query for the number of the last posting that the sums count; absent where they count each in its own transaction. */
  readonly counted?: string;
  /** Runs on a connection of its own, beside calls. */
  ask(statement: Statement): Promise<readonly Row[]>;
}

/** Reports of a store without accounts: the caller passes the sandbox accounts. */
export interface ToldReports extends Reports {
  usage(query: UsageQuery, sandboxAccounts?: readonly string[]): Promise<UsagePage | TooWide>;
}

export function reportsOf(books: AskReports): ToldReports {
  return {
    usage: (query, sandboxAccounts = []) => readUsage(query, books, sandboxAccounts),
    search: (query) => searchPostings(query, books),
    runPostings: (query) => readRunPostings(query, books),
  };
}
