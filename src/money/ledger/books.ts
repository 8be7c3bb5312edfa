// A whole ledger, as it is carried from one store to another while no gateway runs.
import { hash } from "node:crypto";
import type { AccountRow, KeyRow } from "../../core/account-rows.ts";
import type { NumberedPosting } from "./archive/archive.ts";
import type { DoctorReport } from "./model/ledger.ts";

const ACCOUNTS_AT_ONCE = 32;

export type BookKey = Omit<KeyRow, "periodSpentNano" | "periodHeldNano"> & { readonly secretHash: string };

/** What an idempotency key means until it lapses. */
export interface BookIdempotency {
  readonly keyId: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly holdId: string;
  readonly state: string;
  readonly effect: string;
  readonly lapsesAtMs: number;
}

/** What calls of a day have cost us unpaid, or were charged above our cost, in a scope of theirs: postings alone do not tell it. */
export interface BookCost {
  readonly scope: string;
  readonly day: number;
  readonly nano: number;
}

/** Days of which these are carried: a Redis keeps no older ones. */
export const COST_DAYS_CARRIED = 60;

/** An account with everything but its postings; nothing of it is held. */
export interface AccountBook {
  readonly account: Omit<AccountRow, "heldNano">;
  /** The latest time that the account has seen. */
  readonly clockMs: number;
  readonly keys: readonly BookKey[];
  readonly idempotency: readonly BookIdempotency[];
  readonly costs: readonly BookCost[];
}

export interface BookSource {
  /** Ends holds whose lease has ended; answers how many are left. */
  settle(): Promise<number>;
  /** All postings, those of each account in order. */
  postings(): AsyncIterable<readonly NumberedPosting[]>;
  accounts(): AsyncIterable<AccountBook>;
  doctor(): Promise<DoctorReport>;
  close(): Promise<void>;
}

/** Takes all postings first and the accounts after them, and is complete only when it has been finished. */
export interface BookTarget {
  takePostings(postings: readonly NumberedPosting[]): Promise<void>;
  takeAccount(book: AccountBook): Promise<void>;
  finish(): Promise<void>;
  /** Leaves what has not been finished. */
  close(): Promise<void>;
}

export interface CarriedBooks {
  readonly accounts: number;
  readonly postings: number;
}

/** Carries all that `source` has to `target`, which must be empty. */
export async function carryBooks(source: BookSource, target: BookTarget): Promise<CarriedBooks> {
  let [accounts, postings] = [0, 0];
  for await (const some of source.postings()) {
    await target.takePostings(some);
    postings += some.length;
  }
  let some: AccountBook[] = [];
  const take = async () => {
    await Promise.all(some.map((book) => target.takeAccount(book)));
    accounts += some.length;
    some = [];
  };
  for await (const book of source.accounts()) {
    some.push(book);
    if (some.length === ACCOUNTS_AT_ONCE) await take();
  }
  await take();
  return { accounts, postings };
}

/** The same text for the same content, in whatever order a store tells it. */
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

/** The accounts that two stores tell differently: their money, keys or idempotency keys. */
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
