// What is kept of accounts and keys: the rows that the ledger writes and the accounts' endpoints show, and the way to them. Types and nothing else.
import type { Nano } from "./money.ts";
import type { TokenUsage, ToldCost } from "./route.ts";

export type AccountKind = "personal" | "business" | "sandbox";
export type CeilingPeriod = "day" | "week" | "month";

/** What an account may do; a new one gets the settings' until an operator changes it. */
export interface AccountLimits {
  readonly inferenceCapNano: Nano;
  readonly requestsPerMinute: number;
  readonly inFlightMax: number;
}

export interface AccountRow extends AccountLimits {
  readonly accountId: string;
  readonly name: string;
  readonly kind: AccountKind;
  readonly createdAtMs: number;
  readonly frozen: boolean;
  /** Its calls have cost us more than they held too often on one day: its holds are made from bytes until an operator clears this. */
  readonly strictBounds: boolean;
  readonly grantedNano: Nano;
  readonly spentNano: Nano;
  readonly heldNano: Nano;
  readonly absorbedNano: Nano;
}

/** What a key may do. Of a null there is no bound. */
export interface KeyLimits {
  readonly ceilingNano: Nano | null;
  readonly ceilingPeriod: CeilingPeriod | null;
  /** Services (`files`) and actions of services (`files/get`) that it may call. */
  readonly services: readonly string[] | null;
  /** Models by slug and tiers by `core/<id>` that it may ask for. */
  readonly models: readonly string[] | null;
  /** From then on it is refused. */
  readonly expiresAtMs: number | null;
}

export interface KeyRow extends KeyLimits {
  readonly keyId: string;
  readonly accountId: string;
  readonly primary: boolean;
  readonly label: string;
  readonly externalId: string | null;
  /** The first and last characters of the secret, for people to tell keys apart. */
  readonly hint: string;
  readonly paused: boolean;
  readonly createdAtMs: number;
  readonly lastUsedAtMs: number | null;
  /** Spent and held in the period of the ceiling that runs now (in the day where there is no ceiling). */
  readonly periodSpentNano: Nano;
  readonly periodHeldNano: Nano;
}

/** A key whose secret was swapped, and the hash of the one that it had. */
export interface RotatedKey extends KeyRow {
  readonly formerHash: string;
}

export interface NewKey extends KeyLimits {
  readonly keyId: string;
  readonly secretHash: string;
  readonly hint: string;
  readonly label: string;
  readonly externalId: string | null;
}

export interface NewAccount extends AccountLimits {
  readonly accountId: string;
  readonly name: string;
  readonly kind: AccountKind;
  readonly creditNano: Nano;
  readonly primaryKey: NewKey;
}

export type AccountPatch = Partial<Pick<AccountRow, "name" | "frozen" | "strictBounds" | keyof AccountLimits>>;
export type KeyPatch = Partial<Pick<KeyRow, "label" | "paused" | keyof KeyLimits>>;

/** An account that has more from the time before this bound keeps them, and gets no further ones. */
export const KEYS_PER_ACCOUNT_MAX = 1_000;

export type KeyCreation = "created" | "unknown_account" | "external_id_taken" | "too_many_keys";

/** So many keys of an account after one of them. */
export interface KeyPage {
  readonly limit: number;
  readonly after: Pick<KeyRow, "createdAtMs" | "keyId"> | null;
}

/** So many accounts after the one of this id, in an order of the store's own that stays the same. */
export interface AccountPage {
  readonly limit: number;
  readonly after: string | null;
}

/** Accounts in the order of their lists: the oldest first. */
export function byOpening(one: AccountRow, other: AccountRow) {
  return one.createdAtMs - other.createdAtMs || (one.accountId < other.accountId ? -1 : 1);
}

/** Keys in the order of their lists: the oldest first. */
export function byAge(one: Pick<KeyRow, "createdAtMs" | "keyId">, other: Pick<KeyRow, "createdAtMs" | "keyId">) {
  return one.createdAtMs - other.createdAtMs || (one.keyId < other.keyId ? -1 : Number(one.keyId > other.keyId));
}

/** Those of an account's keys that stand on a page. */
export function onPage<Key extends Pick<KeyRow, "createdAtMs" | "keyId">>(keys: Iterable<Key>, page?: KeyPage): Key[] {
  const { after = null, limit = Number.POSITIVE_INFINITY } = page ?? {};
  const rest = after === null ? [...keys] : [...keys].filter((key) => byAge(after, key) < 0);
  return rest.sort(byAge).slice(0, limit);
}

/** What is counted of an account, over the period that runs now. */
export interface ScopeOfPeriod {
  readonly scope: string;
  readonly period: CeilingPeriod;
}

/** What a scope has come to in a period, and when that ends. */
export interface PeriodSums {
  readonly spentNano: Nano;
  readonly heldNano: Nano;
  readonly absorbedNano: Nano;
  readonly resetsAtMs: number;
}

/** Accounts and their keys, as whatever keeps them answers for them. */
export interface Accounts {
  openAccount(account: NewAccount): Promise<"opened" | "exists">;
  account(accountId: string): Promise<AccountRow | null>;
  /** A page of them; where none is asked for all, the oldest first, which may be millions. */
  accounts(page?: AccountPage): Promise<readonly AccountRow[]>;
  patchAccount(accountId: string, patch: AccountPatch): Promise<AccountRow | null>;

  createKey(accountId: string, key: NewKey): Promise<KeyCreation>;
  key(accountId: string, keyId: string): Promise<KeyRow | null>;
  keyByHash(secretHash: string): Promise<KeyRow | null>;
  /** Oldest first; all of them where no page is asked for. */
  keys(accountId: string, page?: KeyPage): Promise<readonly KeyRow[]>;
  patchKey(accountId: string, keyId: string, patch: KeyPatch): Promise<KeyRow | null>;
  /** The hash of the secret that a key has now; null: there is no such key. */
  secretHash(accountId: string, keyId: string): Promise<string | null>;
  /** Swaps the secret in place; the old one stops working. */
  rotateKey(accountId: string, keyId: string, secretHash: string, hint: string): Promise<RotatedKey | null>;
  /** Revokes a key. The primary key is never revoked: false. */
  deleteKey(accountId: string, keyId: string): Promise<boolean>;
}

/** One vendor's part in a charge: an attempt of a route, or an inner call. `<transaction id>.<n>`, counted from 1, names it. */
export interface PostedLeg {
  /** The adapter's id. */
  readonly vendor: string;
  /** The model or `service/action` that was asked for there. */
  readonly model: string;
  /** What the vendor takes from us for it. */
  readonly upstreamNano: Nano;
  readonly ok: boolean;
  readonly ms: number;
  /** The failure's kind, or why it was stopped; null where it answered. */
  readonly reason: string | null;
  /** How many legs of one vendor and outcome were summed into it; 1 as a rule. */
  readonly count: number;
  /** What it cost the caller, of a model that acts. */
  readonly told?: ToldCost;
}

/** An immutable entry. `spent` only grows by postings of kind `charge`; refunds and top-ups grow `granted`. */
export interface PostingRow {
  /** The hold's id, or the id of a top-up or refund. */
  readonly transactionId: string;
  readonly kind: "charge" | "topup" | "refund";
  readonly accountId: string;
  readonly keyId: string | null;
  readonly parentId: string | null;
  readonly requestId: string | null;
  readonly createdAtMs: number;
  readonly operation: string | null;
  readonly asked: string | null;
  readonly served: string | null;
  readonly provider: string | null;
  readonly amountNano: Nano;
  readonly chargedCents: number;
  readonly upstreamNano: Nano;
  readonly absorbedNano: Nano;
  readonly absorbReason: string | null;
  readonly usage: TokenUsage | null;
  readonly estimated: boolean;
  readonly priceVersion: string | null;
  /** The refunded transaction, or a top-up's reference. */
  readonly reference: string | null;
  /** Why a refund was given, or why a charge is there that was not posted in time. */
  readonly reason: string | null;
  /** What the caller has called it, as `name=value`. */
  readonly tags: readonly string[];
  /** Whose work it was, and what each part took from us. Lists leave them out. */
  readonly legs: readonly PostedLeg[];
}

export interface PostingQuery {
  readonly accountId: string;
  /** Limits to one key's. */
  readonly keyId: string | null;
  readonly limit: number;
  readonly cursor: string | null;
}

export interface PostingPage {
  readonly rows: readonly PostingRow[];
  readonly next: string | null;
}

export type TopUpOutcome =
  | { readonly outcome: "credited" | "exists"; readonly balanceNano: Nano }
  | { readonly outcome: "unknown_account" | "too_much" };

export type RefundOutcome =
  | { readonly outcome: "refunded" | "exists"; readonly refundId: string; readonly amountNano: Nano }
  | { readonly outcome: "unknown_transaction" };
