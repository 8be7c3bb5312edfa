// The interface of a wallet key's signer, and the signer that holds the key in this process.
import type { Rail } from "../../catalog/auth.ts";
import type { Hex } from "./hex.ts";
import { addressOfKey, signatureOf } from "./keys.ts";
import { signedTransfer, type TempoTransfer } from "./tempo-transaction.ts";
import { signedTransaction, type Transaction } from "./transaction.ts";
import { authorizationDigest, type CoinDomain, type TransferAuthorization } from "./typed-data.ts";

/** What a key is for: paying merchants over a rail, or paying the gas of transactions that collect callers' payments. */
export type KeyUse = Rail | "gas";

/** Rail keys sign transfers only; the gas key signs contract calls that spend nothing but gas. */
export type Signing =
  | { readonly kind: "authorization"; readonly authorization: TransferAuthorization; readonly domain: CoinDomain }
  | { readonly kind: "transfer"; readonly transfer: TempoTransfer }
  | { readonly kind: "transaction"; readonly transaction: Transaction };

export interface Signer {
  readonly address: Hex;
  /** Signs an authorization, transfer or transaction. Rejects where the wallet does not answer. */
  sign(signing: Signing): Promise<Hex>;
}

/** Null where the rail has no key. */
export type Signers = Readonly<Record<Rail, Signer | null>>;

/** Signs with a key held by this process: the wallet's own process, or the sandbox's play money. */
export function signWith(key: Hex, signing: Signing): Hex {
  if (signing.kind === "transaction") return signedTransaction(signing.transaction, key);
  if (signing.kind === "transfer") return signedTransfer(signing.transfer, key);
  return signatureOf(authorizationDigest(signing.authorization, signing.domain), key);
}

export function keySigner(key: Hex): Signer {
  return { address: addressOfKey(key), sign: async (signing) => signWith(key, signing) };
}
