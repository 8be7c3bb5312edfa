// Restricts lists of models and prices to what the calling key may use.
import type { Allowed } from "../../core/plan.ts";
import { modelAllowed } from "./allowed.ts";

interface Priced {
  readonly model: string;
  readonly available: boolean;
}

/** A row of the list of models. A model that is not served stays unavailable, whatever the key may call. */
export function allowedModel<Row extends { readonly id: string; readonly available: boolean }>(
  row: Row,
  allows: Allowed | undefined,
): Row {
  return allows === undefined || modelAllowed(allows, row.id) ? row : { ...row, available: false };
}

type Lists = Readonly<Record<"tier_prices" | "models" | "unit_models", readonly Priced[]>>;

/** The price list: prices are the same for every caller. */
export function allowedPricing<Pricing extends Lists>(pricing: Pricing, allows: Allowed | undefined) {
  if (allows === undefined || allows.models === null) return pricing;
  const shown = (row: Priced) => (modelAllowed(allows, row.model) ? row : { ...row, available: false });
  const { tier_prices, models, unit_models } = pricing;
  return {
    ...pricing,
    tier_prices: tier_prices.map(shown),
    models: models.map(shown),
    unit_models: unit_models.map(shown),
  };
}
