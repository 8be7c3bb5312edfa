// The archive's interface: postings leave Redis for it in order, each exactly once, and never change there.
import type { PostingRow } from "../../../core/account-rows.ts";
import type { ToldReports } from "../usage/reports.ts";

/** A posting with its number within its account (from 1, without gaps) and where its money counts. */
export interface NumberedPosting extends PostingRow {
  readonly number: number;
  /** The UTC day of a charge. */
  readonly day: number | null;
  /** Whether it counts toward the account's inference cap. */
  readonly inference: boolean;
  /** The windows that it moved, beside the store's own, in compact form; null: none. */
  readonly windows: string | null;
}

export function shownPosting({
  number: _,
  day: __,
  inference: ___,
  windows: ____,
  ...row
}: NumberedPosting): PostingRow {
  return row;
}

export function listedPosting(posting: NumberedPosting): PostingRow {
  return { ...shownPosting(posting), legs: [] };
}

export interface Archive extends ToldReports {
  /** Made with the archive; a Redis recognizes its own archive by it. */
  readonly id: string;
  /**
   * Stores postings, all or none, and resolves once they are durable. Existing ones stay as they are. Returns a sentence where the archive
   * has a different posting in one's place; then none was stored.
   */
  append(postings: readonly NumberedPosting[]): Promise<string | null>;
  /** Finds a posting by id; with an account, only among that account's. */
  transaction(accountId: string | null, transactionId: string): Promise<NumberedPosting | null>;
  /** Up to `limit` of an account's or a key's postings, from number `from` (null: the last) downward. */
  page(
    list: { readonly accountId: string; readonly keyId: string | null },
    from: number | null,
    limit: number,
  ): Promise<readonly NumberedPosting[]>;
  /** Up to `limit` of an account's postings after number `after`, upward. */
  after(accountId: string, after: number, limit: number): Promise<readonly NumberedPosting[]>;
  /** I14: errors in the daily sums, as sentences. */
  sumFaults(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** For a ledger that keeps all its postings itself. */
export const NO_ARCHIVE: Archive = {
  id: "",
  append: () => Promise.reject(new Error("there is no archive")),
  transaction: () => Promise.resolve(null),
  page: () => Promise.resolve([]),
  after: () => Promise.resolve([]),
  sumFaults: () => Promise.resolve([]),
  usage: () => Promise.resolve({ rows: [], next: null, mayLackTags: false }),
  search: () => Promise.resolve({ rows: [], next: null }),
  runPostings: () => Promise.resolve({ rows: [], next: null }),
  close: () => Promise.resolve(),
};
