// Where postings go when they leave Redis, in order and each exactly once. What is in the archive never changes and stays.
import type { PostingRow } from "../../../core/account-rows.ts";
import { ZERO } from "../../../core/money.ts";
import type { ToldReports } from "../usage/reports.ts";

/** A posting with its place: its number among its account's, from 1 on without a gap, and where its money is counted. */
export interface NumberedPosting extends PostingRow {
  readonly number: number;
  /** The UTC day of a charge. */
  readonly day: number | null;
  /** Whether it counts toward the account's inference cap. */
  readonly inference: boolean;
  /** The windows beside the store's own that it has moved, in their short form; null: none. */
  readonly windows: string | null;
}

/** Postings as those who ask for transactions see them. */
export function shownPosting({
  number: _,
  day: __,
  inference: ___,
  windows: ____,
  ...row
}: NumberedPosting): PostingRow {
  return row;
}

/** Postings as lists show them. */
export function listedPosting(posting: NumberedPosting): PostingRow {
  return { ...shownPosting(posting), legs: [] };
}

/** Sums over an account's postings up to a number. Money in nano-USD. */
export interface ArchiveSums {
  readonly count: number;
  readonly charged: number;
  readonly credited: number;
  readonly cents: number;
  readonly absorbed: number;
  /** The time of the latest. */
  readonly latestMs: number;
  /** What was charged and absorbed, by key, day, whether it counts as inference, and windows. */
  readonly days: readonly {
    readonly keyId: string;
    readonly day: number;
    readonly inference: boolean;
    readonly windows: string | null;
    /** What was not charged of our cost, and what was charged above it. */
    readonly unpaid: number;
    readonly margin: number;
    readonly charged: number;
    /** Of the postings from `absorbedFrom` on. */
    readonly absorbed: number;
  }[];
  /** What is wrong among the postings themselves, as sentences that begin with the invariant. */
  readonly faults: readonly (readonly [invariant: string, detail: string])[];
}

export interface Archive extends ToldReports {
  /** Made with the archive: a store of postings knows by it that this is the one it has given its postings to. */
  readonly id: string;
  /**
   * Keeps postings, all or none, and answers after they are durable. Those that are there already are left as they are.
   * Answers a sentence where the archive has another posting in the place of one of them: then none was kept.
   */
  append(postings: readonly NumberedPosting[]): Promise<string | null>;
  /** By its id; with an account, only that account's. */
  transaction(accountId: string | null, transactionId: string): Promise<NumberedPosting | null>;
  /** Up to `limit` of an account's or a key's postings from number `from` (null: the last) downward. */
  page(
    list: { readonly accountId: string; readonly keyId: string | null },
    from: number | null,
    limit: number,
  ): Promise<readonly NumberedPosting[]>;
  /** Up to `limit` of an account's postings after number `after`, upward. */
  after(accountId: string, after: number, limit: number): Promise<readonly NumberedPosting[]>;
  sums(accountId: string, upTo: number, absorbedFrom: number): Promise<ArchiveSums>;
  /** I14: what is wrong with the daily sums, as sentences. */
  sumFaults(): Promise<readonly string[]>;
  /** The highest number kept of an account; 0: none. */
  last(accountId: string): Promise<number>;
  close(): Promise<void>;
}

/** The archive of a ledger that keeps all its postings itself. */
export const NO_ARCHIVE: Archive = {
  id: "",
  append: () => Promise.reject(new Error("there is no archive")),
  transaction: () => Promise.resolve(null),
  page: () => Promise.resolve([]),
  after: () => Promise.resolve([]),
  sums: () =>
    Promise.resolve({
      ...{ count: 0, charged: ZERO, credited: ZERO, cents: 0, absorbed: ZERO, latestMs: 0, days: [], faults: [] },
    }),
  last: () => Promise.resolve(0),
  sumFaults: () => Promise.resolve([]),
  usage: () => Promise.resolve({ rows: [], next: null, mayLackTags: false }),
  search: () => Promise.resolve({ rows: [], next: null }),
  close: () => Promise.resolve(),
};
