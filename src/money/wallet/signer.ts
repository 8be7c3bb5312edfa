// Who signs with a wallet's key: what can be asked of it, and the one that has the key in this very process.
import type { Rail } from "../../catalog/auth.ts";
import type { Hex } from "./hex.ts";
import { addressOfKey, signatureOf } from "./keys.ts";
import { signedTransfer, type TempoTransfer } from "./tempo-transaction.ts";
import { signedTransaction, type Transaction } from "./transaction.ts";
import { authorizationDigest, type CoinDomain, type TransferAuthorization } from "./typed-data.ts";

/** What a key is for: to pay merchants over a rail, or to pay the gas of transactions that make what callers have paid. */
export type KeyUse = Rail | "gas";

/** Keys of rails sign transfers and nothing else, and that of gas calls that move nothing of its own but gas. */
export type Signing =
  | { readonly kind: "authorization"; readonly authorization: TransferAuthorization; readonly domain: CoinDomain }
  | { readonly kind: "transfer"; readonly transfer: TempoTransfer }
  | { readonly kind: "transaction"; readonly transaction: Transaction };

export interface Signer {
  readonly address: Hex;
  /** The signature of an authorization, or a transfer or transaction with its own. Rejects where the wallet cannot be asked. */
  sign(signing: Signing): Promise<Hex>;
}

/** Null: there is no key for it. */
export type Signers = Readonly<Record<Rail, Signer | null>>;

/** Signs with a key that this process has: in the wallet's own, and with the sandbox's play money. */
export function signWith(key: Hex, signing: Signing): Hex {
  if (signing.kind === "transaction") return signedTransaction(signing.transaction, key);
  if (signing.kind === "transfer") return signedTransfer(signing.transfer, key);
  return signatureOf(authorizationDigest(signing.authorization, signing.domain), key);
}

export function keySigner(key: Hex): Signer {
  return { address: addressOfKey(key), sign: async (signing) => signWith(key, signing) };
}
