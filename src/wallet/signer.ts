// Who signs with a wallet's key: what can be asked of it, and the one that has the key in this very process.
import type { Rail } from "../catalog/auth.ts";
import type { Hex } from "./hex.ts";
import { addressOfKey, signatureOf } from "./keys.ts";
import { signedTransfer, type TempoTransfer } from "./tempo-transaction.ts";
import { authorizationDigest, type CoinDomain, type TransferAuthorization } from "./typed-data.ts";

/** Nothing but a transfer is ever signed. */
export type Signing =
  | { readonly kind: "authorization"; readonly authorization: TransferAuthorization; readonly domain: CoinDomain }
  | { readonly kind: "transfer"; readonly transfer: TempoTransfer };

export interface Signer {
  readonly address: Hex;
  /** The signature of an authorization, or a transfer with its own. Rejects where the wallet cannot be asked. */
  sign(signing: Signing): Promise<Hex>;
}

/** Null: there is no key for it. */
export type Signers = Readonly<Record<Rail, Signer | null>>;

/** Signs with a key that this process has: in the wallet's own, and with the sandbox's play money. */
export function signWith(key: Hex, signing: Signing): Hex {
  if (signing.kind === "transfer") return signedTransfer(signing.transfer, key);
  return signatureOf(authorizationDigest(signing.authorization, signing.domain), key);
}

export function keySigner(key: Hex): Signer {
  return { address: addressOfKey(key), sign: async (signing) => signWith(key, signing) };
}
