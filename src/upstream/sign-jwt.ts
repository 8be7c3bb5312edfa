// Tokens that we sign ourselves (RFC 7519), for vendors that hold our public key.
import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import type { JsonObject } from "../catalog/action.ts";
import type { Adapter } from "../catalog/catalog.ts";
import { failureOfKind, VendorFailure } from "./vendor-failure.ts";

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** Of a sandbox: nobody holds its public half, and nobody looks. */
let playKey: KeyObject | null = null;
const known = new Map<string, KeyObject>();

function keyOf({ isSandbox }: Adapter, key: string): KeyObject {
  if (isSandbox === true) {
    playKey ??= generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
    return playKey;
  }
  const read = known.get(key) ?? createPrivateKey(key.replaceAll("\\n", "\n"));
  known.set(key, read);
  return read;
}

/** A token of the adapter's claims and these, good for so many seconds from now. Throws VendorFailure where our key cannot sign. */
export function signJwt(
  adapter: Adapter,
  key: string,
  { claims, lifeS, nowS }: { readonly claims: JsonObject; readonly lifeS: number; readonly nowS: number },
): string {
  const { auth } = adapter.spec;
  if (auth.kind !== "jwt") throw new Error(`${adapter.id} signs no tokens`);
  const whose = { iss: adapter.settings[auth.issuer] ?? "", iat: nowS, exp: nowS + lifeS };
  const body = `${base64url({ alg: auth.algorithm, typ: "JWT" })}.${base64url({ ...auth.claims, ...claims, ...whose })}`;
  try {
    // RFC 7518, 3.4: both numbers of the signature one after the other, not as ASN.1.
    const signature = sign("sha256", Buffer.from(body), { key: keyOf(adapter, key), dsaEncoding: "ieee-p1363" });
    return `${body}.${signature.toString("base64url")}`;
  } catch {
    // What went wrong with a key is not told: it might tell the key.
    const failure = failureOfKind("provider_auth_failed", "our private key cannot sign");
    throw new VendorFailure({ ...failure, mayHaveRun: false });
  }
}
