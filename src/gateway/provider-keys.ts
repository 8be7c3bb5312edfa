// Keys of accounts' own at providers: by which secrets they are sealed, at what fee they are used, and whose models are sold here.

import { signingSecrets } from "../actions/files/signed-links.ts";
import type { AdapterSpec } from "../catalog/adapter.ts";
import { systemClock } from "../core/clock.ts";
import type { ownProviderKeyEndpoints } from "../money/accounts/provider-key-endpoints.ts";
import type { OpenCallers } from "./open-callers.ts";
import type { Foundation } from "./open-foundation.ts";

/** A server of the operator's own, or one that answers without a key, would serve anybody's key at the fee alone. */
function takesOwnKeys({ auth, local, keyOptional, selfHosted }: AdapterSpec): boolean {
  return auth.plain === true && local !== true && keyOptional !== true && selfHosted === undefined;
}

export function providerKeyParts(
  { config, catalog, stores }: Pick<Foundation, "config" | "catalog" | "stores">,
  { forget }: Pick<OpenCallers, "forget">,
): Parameters<typeof ownProviderKeyEndpoints>[0] {
  return {
    books: stores.ledger,
    rules: stores.records,
    clock: systemClock,
    forget,
    secrets: () => signingSecrets(config.signingSecret, config.dataDir),
    feePercent: config.ownKeyFeePercent,
    serves: (provider, audience) =>
      catalog
        .current()
        .models(audience)
        .some(({ offers }) => offers.some(({ adapter }) => adapter.id === provider && takesOwnKeys(adapter.spec))),
  };
}
