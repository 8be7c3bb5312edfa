// The books as a whole, as a store answers for them: it says where its postings and sums are and runs what it is asked.
import type { PostingRow } from "../../account-rows.ts";
import type { Value } from "../../storage/reading-thread.ts";
import type { Reports } from "../../usage-rows.ts";
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
  /** Runs beside the calls that go on, on a connection of its own. */
  ask(statement: Statement): Promise<readonly Row[]>;
}

export function reportsOf(books: AskReports, rowOf: (row: Row) => PostingRow): Reports {
  return {
    usage: (query) => readUsage(query, books),
    search: (query) => searchPostings(query, books, rowOf),
  };
}
