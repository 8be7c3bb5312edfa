// Signs tokens (RFC 7519) for vendors that hold our public key. If our key cannot sign, the vendor counts as failed.
import type { TokenClaims } from "../catalog/auth.ts";
import type { Adapter } from "../catalog/catalog.ts";
import type { JsonObject } from "../catalog/said.ts";
import { failureOfKind, VendorFailure } from "./vendor-failure.ts";

/** Signs the adapter's claims together with these. Throws VendorFailure if our key cannot sign. */
export function signed(
  { id, spec: { auth }, settings }: Adapter,
  claims: JsonObject,
  by: Omit<TokenClaims, "settings">,
): string {
  if (auth.sign === undefined) throw new Error(`${id} signs no tokens`);
  try {
    return auth.sign(claims, { ...by, settings });
  } catch {
    // The error may contain the key, so do not report it.
    const failure = failureOfKind("provider_auth_failed", "our private key cannot sign");
    throw new VendorFailure({ ...failure, mayHaveRun: false });
  }
}
