// Rows of accounts, keys and postings, and the interface to accounts. Types only.
import type { Nano } from "./money.ts";
import type { TokenUsage, ToldCost } from "./route.ts";

/** The part of a list to read; no cursor: its beginning. */
export interface Paged {
  readonly limit: number;
  readonly cursor: string | null;
}

/** A part of a list, and the cursor of the next one; null: this is the last. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly next: string | null;
}

export type AccountKind = "personal" | "business" | "sandbox";
export type CeilingPeriod = "day" | "week" | "month";
/** The period of a window; a run's window has none: it counts from the run's first call to its last. */
export type WindowPeriod = CeilingPeriod | "run";

/** An account's limits; a new account has the configured ones. */
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
  /** Its calls overran their holds too often in one day: holds are computed from bytes until an operator clears this. */
  readonly strictBounds: boolean;
  readonly grantedNano: Nano;
  readonly spentNano: Nano;
  readonly heldNano: Nano;
  readonly absorbedNano: Nano;
}

/** A key's limits; null means no limit. */
export interface KeyLimits {
  readonly ceilingNano: Nano | null;
  readonly ceilingPeriod: CeilingPeriod | null;
  /** Services (`files`) and actions (`files/get`) that it may call. */
  readonly services: readonly string[] | null;
  /** Models by slug and tiers by `core/<id>` that it may use. */
  readonly models: readonly string[] | null;
  /** The key is refused from then on. */
  readonly expiresAtMs: number | null;
}

export interface KeyRow extends KeyLimits {
  readonly keyId: string;
  readonly accountId: string;
  readonly primary: boolean;
  readonly label: string;
  readonly externalId: string | null;
  /** The secret's first and last characters, so that people can tell keys apart. */
  readonly hint: string;
  readonly paused: boolean;
  readonly createdAtMs: number;
  readonly lastUsedAtMs: number | null;
  /** Spent and held in the ceiling's current period (the day where there is no ceiling). */
  readonly periodSpentNano: Nano;
  readonly periodHeldNano: Nano;
}

/** A key with a new secret, and the hash of its former one. */
export interface RotatedKey extends KeyRow {
  readonly formerHash: string;
}

export interface NewKey extends KeyLimits, Pick<KeyRow, "keyId" | "hint" | "label" | "externalId"> {
  readonly secretHash: string;
}

export interface NewAccount extends AccountLimits, Pick<AccountRow, "accountId" | "name" | "kind"> {
  readonly creditNano: Nano;
  readonly primaryKey: NewKey;
}

export type AccountPatch = Partial<Pick<AccountRow, "name" | "frozen" | "strictBounds" | keyof AccountLimits>>;
export type KeyPatch = Partial<Pick<KeyRow, "label" | "paused" | keyof KeyLimits>>;

/** An account with more keys from before this limit keeps them, and gets no further ones. */
export const KEYS_PER_ACCOUNT_MAX = 1_000;

export type KeyCreation = "created" | "unknown_account" | "external_id_taken" | "too_many_keys";

export interface KeyPage {
  readonly limit: number;
  readonly after: Pick<KeyRow, "createdAtMs" | "keyId"> | null;
}

/** A page of accounts after the one with this id, in the store's own stable order. */
export interface AccountPage {
  readonly limit: number;
  readonly after: string | null;
  /** Only accounts with this text in their name or id, and the owner of the key with this id. */
  readonly text?: string;
}

export function byOpening(one: AccountRow, other: AccountRow) {
  return one.createdAtMs - other.createdAtMs || (one.accountId < other.accountId ? -1 : 1);
}

export function byAge(one: Pick<KeyRow, "createdAtMs" | "keyId">, other: Pick<KeyRow, "createdAtMs" | "keyId">) {
  return one.createdAtMs - other.createdAtMs || (one.keyId < other.keyId ? -1 : Number(one.keyId > other.keyId));
}

export function onPage<Key extends Pick<KeyRow, "createdAtMs" | "keyId">>(keys: Iterable<Key>, page?: KeyPage): Key[] {
  const { after = null, limit = Number.POSITIVE_INFINITY } = page ?? {};
  const rest = after === null ? [...keys] : [...keys].filter((key) => byAge(after, key) < 0);
  return rest.sort(byAge).slice(0, limit);
}

export interface ScopeOfPeriod {
  readonly scope: string;
  readonly period: WindowPeriod;
}

export interface PeriodSums extends Pick<AccountRow, "spentNano" | "heldNano" | "absorbedNano"> {
  readonly resetsAtMs: number;
}

export interface Accounts {
  openAccount(account: NewAccount): Promise<"opened" | "exists">;
  account(accountId: string): Promise<AccountRow | null>;
  /** A page; without one all accounts, oldest first, which may be millions. */
  accounts(page?: AccountPage): Promise<readonly AccountRow[]>;
  patchAccount(accountId: string, patch: AccountPatch): Promise<AccountRow | null>;

  createKey(accountId: string, key: NewKey): Promise<KeyCreation>;
  key(accountId: string, keyId: string): Promise<KeyRow | null>;
  keyByHash(secretHash: string): Promise<KeyRow | null>;
  /** Oldest first; all without a page. */
  keys(accountId: string, page?: KeyPage): Promise<readonly KeyRow[]>;
  patchKey(accountId: string, keyId: string, patch: KeyPatch): Promise<KeyRow | null>;
  /** The hash of a key's current secret; null where there is no such key. */
  secretHash(accountId: string, keyId: string): Promise<string | null>;
  /** Replaces the secret; the old one stops working. */
  rotateKey(accountId: string, keyId: string, secretHash: string, hint: string): Promise<RotatedKey | null>;
  /** Revokes a key. False for the primary key, which cannot be revoked. */
  deleteKey(accountId: string, keyId: string): Promise<boolean>;
}

/** One vendor's part in a charge: an attempt of a route, or an inner call. Its id is `<transaction id>.<n>`, from 1. */
export interface PostedLeg {
  readonly vendor: string;
  /** The model or `service/action` that was requested there. */
  readonly model: string;
  /** What the vendor charges us. */
  readonly upstreamNano: Nano;
  readonly ok: boolean;
  readonly ms: number;
  /** The failure's kind, or why the attempt was stopped; null where it answered. */
  readonly reason: string | null;
  /** How many legs of one vendor and outcome it sums; usually 1. */
  readonly count: number;
  /** What it cost the caller, for a call of a model with tools. */
  readonly told?: ToldCost;
  /** Only of an attempt that answered, within a run. */
  readonly inRun?: LegInRun;
}

export interface LegInRun {
  /** From the start of the attempt; null where the answer came at once. */
  readonly firstTokenMs: number | null;
  /** Equal for equal requests. */
  readonly requestHash: string;
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
  /** Why a refund was given, or why a charge was posted late. */
  readonly reason: string | null;
  /** The run that it was part of; absent: none. */
  readonly runId?: string;
  /** The caller's tags, as `name=value`. */
  readonly tags: readonly string[];
  /** The parts of the work, and what each cost us. Lists omit them. */
  readonly legs: readonly PostedLeg[];
}

export interface PostingQuery extends Paged {
  readonly accountId: string;
  /** Only this key's. */
  readonly keyId: string | null;
}

export type PostingPage = Page<PostingRow>;

export type TopUpOutcome =
  | { readonly outcome: "credited" | "exists"; readonly balanceNano: Nano }
  | { readonly outcome: "unknown_account" | "too_much" };

export type RefundOutcome =
  | { readonly outcome: "refunded" | "exists"; readonly refundId: string; readonly amountNano: Nano }
  | { readonly outcome: "unknown_transaction" };
