// secp256k1 private keys: addresses and signatures in the chains' encoding.
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesOf, type Hex, hexOf } from "./hex.ts";

const addressIn = (publicKey: Uint8Array): Hex => hexOf(keccak_256(publicKey.subarray(1)).subarray(12));

/** True for 32 bytes that are a valid secp256k1 private key. */
export function isPrivateKey(key: string): boolean {
  return /^0x[0-9a-fA-F]{64}$/.test(key) && secp256k1.utils.isValidSecretKey(bytesOf(key));
}

/** Lower case. */
export function addressOfKey(key: Hex): Hex {
  return addressIn(secp256k1.getPublicKey(bytesOf(key), false));
}

/** 65 bytes: r, s and v (27 or 28). */
export function signatureOf(digest: Uint8Array, key: Hex): Hex {
  const signed = secp256k1.sign(digest, bytesOf(key), { prehash: false, format: "recovered" });
  return hexOf(Buffer.concat([signed.subarray(1), Buffer.of(27 + (signed[0] ?? 0))]));
}

/**
 * Recovers the signer's address in lower case. Returns null for an invalid signature, or one with `s` in the upper half: anybody can make
 * that twin without the key, and USDC refuses it too.
 */
export function signerOf(digest: Uint8Array, signature: Hex): Hex | null {
  const bytes = bytesOf(signature);
  const v = bytes[64];
  if (bytes.length !== 65 || (v !== 27 && v !== 28)) return null;
  try {
    const recovered = Buffer.concat([Buffer.of(v - 27), bytes.subarray(0, 64)]);
    const parsed = secp256k1.Signature.fromBytes(recovered, "recovered");
    return parsed.hasHighS() ? null : addressIn(parsed.recoverPublicKey(digest).toBytes(false));
  } catch {
    return null;
  }
}
