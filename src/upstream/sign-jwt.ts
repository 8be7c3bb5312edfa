// Tokens that we sign ourselves (RFC 7519), for vendors that hold our public key: a key that cannot sign is a failure of the vendor's.
import type { TokenClaims } from "../catalog/auth.ts";
import type { Adapter } from "../catalog/catalog.ts";
import type { JsonObject } from "../catalog/said.ts";
import { failureOfKind, VendorFailure } from "./vendor-failure.ts";

/** A token of the adapter's claims and these. Throws VendorFailure where our key cannot sign. */
export function signed(
  { id, spec: { auth }, settings }: Adapter,
  claims: JsonObject,
  by: Omit<TokenClaims, "settings">,
): string {
  if (auth.sign === undefined) throw new Error(`${id} signs no tokens`);
  try {
    return auth.sign(claims, { ...by, settings });
  } catch {
    // What went wrong with a key is not told: it might tell the key.
    const failure = failureOfKind("provider_auth_failed", "our private key cannot sign");
    throw new VendorFailure({ ...failure, mayHaveRun: false });
  }
}
