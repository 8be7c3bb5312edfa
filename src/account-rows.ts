// What is kept of accounts and keys: the rows that the ledger writes and the accounts' endpoints show, and the way to them. Types and nothing else.
import type { Nano } from "./money.ts";
import type { TokenUsage } from "./route.ts";

export type AccountKind = "personal" | "business" | "sandbox";
export type CeilingPeriod = "day" | "week" | "month";

/** What an account may do; a new one gets the settings' until somebody changes it. */
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

/** Accounts and their keys, as whatever keeps them answers for them. */
export interface Accounts {
  openAccount(account: NewAccount): Promise<"opened" | "exists">;
  account(accountId: string): Promise<AccountRow | null>;
  accounts(): Promise<readonly AccountRow[]>;
  patchAccount(accountId: string, patch: AccountPatch): Promise<AccountRow | null>;

  createKey(accountId: string, key: NewKey): Promise<"created" | "unknown_account" | "external_id_taken">;
  keyByHash(secretHash: string): Promise<KeyRow | null>;
  keys(accountId: string): Promise<readonly KeyRow[]>;
  patchKey(accountId: string, keyId: string, patch: KeyPatch): Promise<KeyRow | null>;
  /** Swaps the secret in place; the old one stops working. */
  rotateKey(accountId: string, keyId: string, secretHash: string, hint: string): Promise<KeyRow | null>;
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
  /** Why a refund was given, or why a charge is there that nobody posted in time. */
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
