// Keys of accounts' own at providers: by which secrets they are sealed, at what fee they are used, and whose models are sold here.
import type { ownProviderKeyEndpoints } from "../accounts/provider-key-endpoints.ts";
import { systemClock } from "../clock.ts";
import { signingSecrets } from "../files/signed-links.ts";
import type { OpenCallers } from "./open-callers.ts";
import type { Foundation } from "./open-foundation.ts";

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
        .some(({ offers }) => offers.some(({ adapter }) => adapter.id === provider)),
  };
}
