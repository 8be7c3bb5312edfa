// What accounts need of the ledger. The ledger itself fits this shape and is handed in.
import type { Nano } from "../money.ts";
import type { TokenUsage } from "../plan.ts";

export type AccountKind = "personal" | "business" | "sandbox";
export type CeilingPeriod = "day" | "week" | "month";

export interface AccountState {
  readonly accountId: string;
  readonly name: string;
  readonly kind: AccountKind;
  readonly createdAtMs: number;
  readonly frozen: boolean;
  readonly inferenceCapNano: Nano;
  readonly requestsPerMinute: number;
  readonly inFlightMax: number;
  readonly grantedNano: Nano;
  readonly spentNano: Nano;
  readonly heldNano: Nano;
  readonly absorbedNano: Nano;
}

export interface KeyState {
  readonly keyId: string;
  readonly accountId: string;
  readonly primary: boolean;
  readonly label: string;
  readonly externalId: string | null;
  readonly hint: string;
  readonly paused: boolean;
  readonly ceilingNano: Nano | null;
  readonly ceilingPeriod: CeilingPeriod | null;
  readonly createdAtMs: number;
  readonly lastUsedAtMs: number | null;
  readonly periodSpentNano: Nano;
}

export interface KeyDraft {
  readonly keyId: string;
  readonly secretHash: string;
  readonly hint: string;
  readonly label: string;
  readonly externalId: string | null;
  readonly ceilingNano: Nano | null;
  readonly ceilingPeriod: CeilingPeriod | null;
}

/** What a new account may do until somebody changes it. */
export interface AccountLimits {
  readonly inferenceCapNano: Nano;
  readonly requestsPerMinute: number;
  readonly inFlightMax: number;
}

export interface AccountDraft extends AccountLimits {
  readonly accountId: string;
  readonly name: string;
  readonly kind: AccountKind;
  readonly creditNano: Nano;
  readonly primaryKey: KeyDraft;
}

export type AccountChange = Partial<AccountLimits & { readonly name: string; readonly frozen: boolean }>;
export type KeyChange = Partial<Pick<KeyState, "label" | "paused" | "ceilingNano" | "ceilingPeriod">>;

export interface Transaction {
  readonly transactionId: string;
  readonly kind: "charge" | "topup" | "refund";
  readonly keyId: string | null;
  readonly requestId: string | null;
  readonly createdAtMs: number;
  readonly operation: string | null;
  readonly served: string | null;
  readonly amountNano: Nano;
  readonly chargedCents: number;
  readonly usage: TokenUsage | null;
  readonly estimated: boolean;
  readonly reference: string | null;
}

export interface TransactionPage {
  readonly rows: readonly Transaction[];
  readonly next: string | null;
}

/** Who may call: all that is asked on the way of a paid request. */
export interface KeyBooks {
  keyByHash(secretHash: string): Promise<KeyState | null>;
  account(accountId: string): Promise<AccountState | null>;
}

export interface Books extends KeyBooks {
  openAccount(draft: AccountDraft): Promise<"opened" | "exists">;
  accounts(): Promise<readonly AccountState[]>;
  patchAccount(accountId: string, change: AccountChange): Promise<AccountState | null>;

  createKey(accountId: string, draft: KeyDraft): Promise<"created" | "unknown_account" | "external_id_taken">;
  keys(accountId: string): Promise<readonly KeyState[]>;
  patchKey(accountId: string, keyId: string, change: KeyChange): Promise<KeyState | null>;
  rotateKey(accountId: string, keyId: string, secretHash: string, hint: string): Promise<KeyState | null>;
  deleteKey(accountId: string, keyId: string): Promise<boolean>;

  topUp(accountId: string, transactionId: string, amountNano: Nano, reference: string): Promise<CreditOutcome>;
  refund(transactionId: string, refundId: string, reason: string): Promise<RefundOutcome>;
  transaction(accountId: string | null, transactionId: string): Promise<Transaction | null>;
  transactions(query: {
    readonly accountId: string;
    readonly keyId: string | null;
    readonly limit: number;
    readonly cursor: string | null;
  }): Promise<TransactionPage>;
  doctor(): Promise<unknown>;
  /** Writes a consistent copy to `path`, which must not exist; rejects otherwise. */
  backup(path: string): Promise<void>;
}

export type CreditOutcome =
  | { readonly outcome: "credited" | "exists"; readonly balanceNano: Nano }
  | { readonly outcome: "unknown_account" | "too_much" };

export type RefundOutcome =
  | { readonly outcome: "refunded" | "exists"; readonly refundId: string; readonly amountNano: Nano }
  | { readonly outcome: "unknown_transaction" };
