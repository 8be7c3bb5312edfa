// Whether a payment was signed by its sender, looked at in this process, before anybody else is asked about it.
import { recoverSigner } from "../evm/secp256k1.ts";
import { authorizationDigest } from "../evm/typed-data.ts";
import type { Network } from "./networks.ts";
import { type Payment, signedIn } from "./read-payment.ts";

/** Of a wallet that is a key. What is longer is of one that is a contract, which only its chain can ask. */
const KEY_SIGNATURE_CHARACTERS = 2 + 65 * 2;

/** `contract`: its sender would be a contract. */
export function signedBySender(payment: Payment, { domain, chainId, asset }: Network): boolean | "contract" {
  const { signature, authorization } = signedIn(payment);
  if (signature.length !== KEY_SIGNATURE_CHARACTERS) return "contract";
  try {
    const digest = authorizationDigest({ ...domain, chainId, verifyingContract: asset }, authorization);
    return recoverSigner(digest, signature) === payment.from;
  } catch {
    return false;
  }
}
