// What is said to be available, less what the key that asks may not ask for: of lists of models and of prices.
import type { Allowed } from "../../core/plan.ts";
import { modelAllowed } from "./allowed.ts";

interface Priced {
  readonly model: string;
  readonly available: boolean;
}

/** A row of the list of models. Whatever the key may do besides, what is not served stays unavailable. */
export function allowedModel<Row extends { readonly id: string; readonly available: boolean }>(
  row: Row,
  allows: Allowed | undefined,
): Row {
  return allows === undefined || modelAllowed(allows, row.id) ? row : { ...row, available: false };
}

type Lists = Readonly<Record<"tier_prices" | "models" | "unit_models", readonly Priced[]>>;

/** The price list: prices are the same for everybody. */
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
