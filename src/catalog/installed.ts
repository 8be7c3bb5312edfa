// What this installation has enabled: vendors, tiers and actions, and which settings enable the others.
import { eachOf, type Steps } from "../core/slices.ts";
import type { Adapter, Audience, Catalog } from "./catalog.ts";
import { envName } from "./configure.ts";
import { byFirstPrice, tierModels } from "./price-answers.ts";
import { SESSION_ACTIONS } from "./session.ts";
import { variablesOf } from "./variables.ts";

export type InstalledProvider = ReturnType<typeof providerOf>;

/** How many of a tier's candidates have a provider. */
export interface InstalledTier {
  readonly id: string;
  readonly on: number;
  readonly of: number;
}

export interface Installed {
  readonly providers: readonly InstalledProvider[];
  readonly tiers: readonly InstalledTier[];
}

const LIVE: Audience = { sandbox: false };

function providerOf({ id, spec, configured }: Adapter) {
  return {
    id,
    name: spec.name,
    on: configured,
    /** All variables that must be set to enable it; empty if no variable can. */
    variables: variablesOf(id, spec),
    /** The address variable that also enables it, if the operator can self-host it; null otherwise. */
    self_hosted_by: spec.selfHosted === undefined ? null : envName(id, "BASE_URL"),
    /** What the gateway still needs for it; null if nothing. */
    waits_for: spec.waitsFor ?? null,
    // A provider that also sells actions is described by those.
    sells_models: [spec.chat, spec.embeddings, spec.actions ? undefined : spec.unitModels].some(Boolean),
    /** Accepts any model as `<id>/<model>`. */
    serves_any: (spec.chat?.anyModel?.prices.length ?? 0) > 0,
    actions: Object.keys(spec.actions ?? {}).length + (spec.sessions === undefined ? 0 : SESSION_ACTIONS.length),
  };
}

/** The live accounts' view; the cheapest tier first. */
export function* installedOf(catalog: Catalog): Steps<Installed> {
  return {
    providers: yield* eachOf(catalog.adapters(LIVE).values(), providerOf),
    tiers: yield* eachOf(byFirstPrice(catalog, LIVE), (tier) => {
      const models = tierModels(tier, catalog, LIVE);
      return { id: tier.id, on: models.filter(({ offers }) => offers.length > 0).length, of: models.length };
    }),
  };
}

/** A model for a first call: the cheapest served tier, otherwise any served model; null if there is none. */
export function firstModelOf(catalog: Catalog, { tiers }: Installed): string | null {
  const tier = tiers.find(({ on }) => on > 0);
  if (tier !== undefined) return `core/${tier.id}`;
  return catalog.models(LIVE).find(({ listed, offers }) => listed && offers.length > 0)?.slug ?? null;
}
