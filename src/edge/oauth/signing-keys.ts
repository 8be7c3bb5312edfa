// The keys that sign access tokens, derived from SIGNING_SECRET and the month: all processes have the same keys, and none is stored.
import { createECDH, createHash, createPublicKey, hkdfSync, type KeyObject } from "node:crypto";
import type { Clock } from "../../core/clock.ts";

/** The order of P-256 (SEC 2, 2.4.2): a private key is between 1 and the order minus 1. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
/** 64 bits more than the order, so that the bias is negligible (FIPS 186-5, A.2.1). */
const SEED_BYTES = 40;
const KEY_BYTES = 32;

/** A private key of P-256 as a JWK (RFC 7517). */
export type PrivateJwk = ReturnType<typeof keyOf>;

export interface SigningKeys {
  /** `YYYY-MM`: the keys change with it. */
  readonly month: string;
  /** The signing key is first. */
  readonly all: readonly PrivateJwk[];
  readonly publicKeys: ReadonlyMap<string, KeyObject>;
}

function keyOf(secret: string, month: string) {
  const seed = Buffer.from(hkdfSync("sha256", secret, "", `tollgate access tokens\n${month}`, SEED_BYTES));
  const d = (BigInt(`0x${seed.toString("hex")}`) % (ORDER - 1n)) + 1n;
  const bytes = Buffer.from(d.toString(16).padStart(2 * KEY_BYTES, "0"), "hex");
  const curve = createECDH("prime256v1");
  curve.setPrivateKey(bytes);
  const point = curve.getPublicKey();
  const x = point.subarray(1, 1 + KEY_BYTES).toString("base64url");
  const y = point.subarray(1 + KEY_BYTES).toString("base64url");
  const kid = createHash("sha256").update(point).digest("base64url").slice(0, 16);
  const d64 = bytes.toString("base64url");
  return { kty: "EC", crv: "P-256", alg: "ES256", use: "sig", kid, x, y, d: d64 } as const;
}

function monthAt(epochMs: number, more: number): string {
  const date = new Date(epochMs);
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + more)).toISOString().slice(0, 7);
}

/**
 * The current keys. The first secret's key of this month signs. Last month's keys remain valid until their tokens expire, next month's are
 * valid because another process's clock may be ahead, and older secrets' keys are valid until the setting drops them.
 */
export function signingKeys(secrets: readonly string[], clock: Clock): () => SigningKeys {
  let keys: SigningKeys | null = null;
  return () => {
    const nowMs = clock.epochMs();
    const month = monthAt(nowMs, 0);
    if (keys?.month === month) return keys;
    const all = secrets.flatMap((secret) => [0, -1, 1].map((more) => keyOf(secret, monthAt(nowMs, more))));
    const publicKeys = new Map(
      all.map(({ kid, kty, crv, x, y }) => [kid, createPublicKey({ key: { kty, crv, x, y }, format: "jwk" })]),
    );
    keys = { month, all, publicKeys };
    return keys;
  };
}
