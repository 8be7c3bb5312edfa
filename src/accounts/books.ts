// What accounts need of the ledger. The ledger itself fits this shape and is handed in.
import type {
  AccountPatch,
  AccountRow,
  KeyPatch,
  KeyRow,
  NewAccount,
  NewKey,
  PostingPage,
  PostingQuery,
  PostingRow,
  RefundOutcome,
  TopUpOutcome,
} from "../account-rows.ts";
import type { Nano } from "../money.ts";

/** Who may call: all that is asked on the way of a paid request. */
export interface KeyBooks {
  keyByHash(secretHash: string): Promise<KeyRow | null>;
  account(accountId: string): Promise<AccountRow | null>;
}

export interface Books extends KeyBooks {
  openAccount(account: NewAccount): Promise<"opened" | "exists">;
  accounts(): Promise<readonly AccountRow[]>;
  patchAccount(accountId: string, patch: AccountPatch): Promise<AccountRow | null>;

  createKey(accountId: string, key: NewKey): Promise<"created" | "unknown_account" | "external_id_taken">;
  keys(accountId: string): Promise<readonly KeyRow[]>;
  patchKey(accountId: string, keyId: string, patch: KeyPatch): Promise<KeyRow | null>;
  rotateKey(accountId: string, keyId: string, secretHash: string, hint: string): Promise<KeyRow | null>;
  deleteKey(accountId: string, keyId: string): Promise<boolean>;

  topUp(accountId: string, transactionId: string, amountNano: Nano, reference: string): Promise<TopUpOutcome>;
  refund(transactionId: string, refundId: string, reason: string): Promise<RefundOutcome>;
  transaction(accountId: string | null, transactionId: string): Promise<PostingRow | null>;
  transactions(query: PostingQuery): Promise<PostingPage>;
  doctor(): Promise<unknown>;
  /** Writes a consistent copy to `path`, which must not exist; rejects otherwise. */
  backup(path: string): Promise<void>;
}
