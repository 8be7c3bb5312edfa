// The keys of Ethereum's wallets: whose address a key has, what it signs, and who has signed (secp256k1 over keccak-256).
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";

/** Of 32 bytes, as every hash that is signed here. */
export function keccak256(bytes: Uint8Array): Uint8Array {
  return keccak_256(bytes);
}

/** Bytes of a text that is hexadecimal after `0x`. */
export function bytesOf(hex: string): Uint8Array {
  return Buffer.from(hex.slice(2), "hex");
}

export function hexOf(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString("hex")}`;
}

/** In lower case, without the checksum that some write into its letters. */
function addressOfPoint(uncompressed: Uint8Array): string {
  return hexOf(keccak256(uncompressed.subarray(1)).subarray(12));
}

/** The address of a private key of 32 bytes. Throws where it is no key. */
export function addressOf(privateKey: Uint8Array): string {
  return addressOfPoint(secp256k1.getPublicKey(privateKey, false));
}

export interface Signature {
  /** 32 bytes each. */
  readonly r: Uint8Array;
  readonly s: Uint8Array;
  /** Which of two points it was: 0 or 1. */
  readonly parity: number;
}

/** Signs a hash; the same key and hash give the same signature (RFC 6979). */
export function signDigest(digest: Uint8Array, privateKey: Uint8Array): Signature {
  const signed = secp256k1.sign(digest, privateKey, { prehash: false, format: "recovered" });
  return { r: signed.slice(1, 33), s: signed.slice(33, 65), parity: signed[0] ?? 0 };
}

/** The 65 bytes of r, s and v (27 or 28), as contracts take them. */
export function signatureHex({ r, s, parity }: Signature): string {
  return hexOf(Buffer.concat([r, s, Uint8Array.of(27 + parity)]));
}

/**
 * The address that has signed a hash; null: it is no signature of 65 bytes, or the twin that can be made of any other without its key (`s` in
 * the upper half), which USDC refuses as well.
 */
export function recoverSigner(digest: Uint8Array, signature: string): string | null {
  const bytes = bytesOf(signature);
  const v = bytes[64] ?? 0;
  if (bytes.length !== 65 || (v !== 27 && v !== 28)) return null;
  try {
    const recovered = Buffer.concat([Uint8Array.of(v - 27), bytes.subarray(0, 64)]);
    const parsed = secp256k1.Signature.fromBytes(recovered, "recovered");
    if (parsed.hasHighS()) return null;
    return addressOfPoint(parsed.recoverPublicKey(digest).toBytes(false));
  } catch {
    return null;
  }
}
