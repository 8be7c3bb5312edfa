// A whole ledger in transit from one store to another while no gateway runs.
import { hash } from "node:crypto";
import type { AccountRow, KeyRow } from "../../core/account-rows.ts";
import { chunksOf } from "../../core/chunks.ts";
import type { NumberedPosting } from "./archive/archive.ts";
import type { DoctorReport } from "./model/ledger.ts";

const ACCOUNTS_AT_ONCE = 32;

export type BookKey = Omit<KeyRow, "periodSpentNano" | "periodHeldNano"> & { readonly secretHash: string };

export interface BookIdempotency {
  readonly keyId: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly holdId: string;
  readonly state: string;
  readonly effect: string;
  readonly lapsesAtMs: number;
}

/** A scope's unpaid cost or margin of one day, which postings alone do not show. */
export interface BookCost {
  readonly scope: string;
  readonly day: number;
  readonly nano: number;
}

/** Days of cost that are carried: Redis keeps no older ones. */
export const COST_DAYS_CARRIED = 60;

/** An account without its postings; none of its money is held. */
export interface AccountBook {
  readonly account: Omit<AccountRow, "heldNano">;
  /** The latest time that the account has seen. */
  readonly clockMs: number;
  readonly keys: readonly BookKey[];
  readonly idempotency: readonly BookIdempotency[];
  readonly costs: readonly BookCost[];
}

export interface BookSource {
  /** Ends expired holds; returns how many are left. */
  settle(): Promise<number>;
  /** All postings, each account's in order. */
  postings(): AsyncIterable<readonly NumberedPosting[]>;
  accounts(): AsyncIterable<AccountBook>;
  doctor(): Promise<DoctorReport>;
}

/** Receives all postings, then the accounts; complete only once finished. */
export interface BookTarget {
  takePostings(postings: readonly NumberedPosting[]): Promise<void>;
  takeAccount(book: AccountBook): Promise<void>;
  finish(): Promise<void>;
}

export interface CarriedBooks {
  readonly accounts: number;
  readonly postings: number;
}

/** Copies everything from `source` to `target`, which must be empty. */
export async function carryBooks(source: BookSource, target: BookTarget): Promise<CarriedBooks> {
  let [accounts, postings] = [0, 0];
  for await (const some of source.postings()) {
    await target.takePostings(some);
    postings += some.length;
  }
  for await (const some of chunksOf(source.accounts(), ACCOUNTS_AT_ONCE)) {
    await Promise.all(some.map((book) => target.takeAccount(book)));
    accounts += some.length;
  }
  return { accounts, postings };
}

/** Serializes independent of order, so that equal content gives equal text. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value))
    return value
      .map(canonical)
      .map((item) => JSON.stringify(item))
      .sort();
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return fields.map(([name, field]) => [name, JSON.stringify(canonical(field))]);
}

/** The accounts whose money, keys or idempotency keys differ between two stores. */
export async function differingAccounts(one: BookSource, other: BookSource): Promise<string[]> {
  const texts = new Map<string, string>();
  const text = (book: AccountBook) => hash("sha256", JSON.stringify(canonical(book)));
  for await (const book of one.accounts()) texts.set(book.account.accountId, text(book));
  const differing: string[] = [];
  for await (const book of other.accounts()) {
    const { accountId } = book.account;
    if (texts.get(accountId) !== text(book)) differing.push(accountId);
    texts.delete(accountId);
  }
  return [...differing, ...texts.keys()];
}
