// The model tiers in display order: most expensive first, each with its candidate models.
import type { Audience, Catalog, SoldModel, Tier } from "../../catalog/catalog.ts";
import { byFirstPrice, type TierListed, tierListed, tierModels } from "../../catalog/price-answers.ts";

export interface TierShown {
  readonly tier: Tier;
  /** In order. The operator's own server is included once its model is named. */
  readonly models: readonly SoldModel[];
  /** How many of them a configured provider serves. */
  readonly configured: number;
  /** Null: none of its candidates is for sale. */
  readonly listed: TierListed | null;
}

export function tiersShown(catalog: Catalog, audience: Audience): readonly TierShown[] {
  const shown = byFirstPrice(catalog, audience).map((tier): TierShown => {
    const listed = tierListed(tier, catalog, audience);
    return { tier, models: tierModels(tier, catalog, audience), configured: listed?.served.length ?? 0, listed };
  });
  return shown.toReversed();
}
