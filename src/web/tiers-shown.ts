// The model tiers as people look for them: the dearest first, each with the models that it can try.
import type { Audience, Catalog, SoldModel, Tier } from "../catalog/catalog.ts";
import { blendOf } from "../catalog/price.ts";
import { tierModels } from "../catalog/price-answers.ts";

export interface TierShown {
  readonly tier: Tier;
  /** In order. A place for the operator's own server is among them once its model is named. */
  readonly models: readonly SoldModel[];
  /** How many of them a configured provider serves. */
  readonly configured: number;
}

export function tiersShown(catalog: Catalog, audience: Audience): readonly TierShown[] {
  const shown = [...catalog.tiers.values()].map((tier) => {
    const models = tierModels(tier, catalog, audience);
    return { tier, models, configured: models.filter(({ offers }) => offers.length > 0).length };
  });
  const firstPrice = ({ models: [first] }: TierShown) => (first === undefined ? 0 : blendOf(first.sale));
  return shown.sort((a, b) => firstPrice(b) - firstPrice(a));
}
