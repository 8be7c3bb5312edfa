// Whether a payment was signed by its sender, looked at in this process, before anybody else is asked about it.

import type { Network } from "../../catalog/networks.ts";
import type { Hex } from "../../money/wallet/hex.ts";
import { signerOf } from "../../money/wallet/keys.ts";
import { authorizationDigest } from "../../money/wallet/typed-data.ts";
import { type Payment, signedIn } from "./read-payment.ts";

/** Of a wallet that is a key. What is longer is of one that is a contract, which only its chain can ask. */
const KEY_SIGNATURE_CHARACTERS = 2 + 65 * 2;

/** `contract`: its sender would be a contract. */
export function signedBySender(payment: Payment, { domain, chainId, asset }: Network): boolean | "contract" {
  const { signature, authorization } = signedIn(payment);
  if (signature.length !== KEY_SIGNATURE_CHARACTERS) return "contract";
  try {
    const digest = authorizationDigest(authorization, { ...domain, chainId, asset: asset as Hex });
    return signerOf(digest, signature) === payment.from;
  } catch {
    return false;
  }
}
