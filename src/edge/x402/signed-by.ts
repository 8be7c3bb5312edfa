// Checks in this process whether the sender signed a payment, before any other service is called.

import type { Network } from "../../catalog/networks.ts";
import type { Hex } from "../../money/wallet/hex.ts";
import { signerOf } from "../../money/wallet/keys.ts";
import { authorizationDigest } from "../../money/wallet/typed-data.ts";
import { type Payment, signedIn } from "./read-payment.ts";

/** The length for a wallet that is a key. A longer signature belongs to a contract wallet, which only its chain can verify. */
const KEY_SIGNATURE_CHARACTERS = 2 + 65 * 2;

/** `contract`: the sender would be a contract. */
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
