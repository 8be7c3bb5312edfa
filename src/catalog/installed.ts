// What an installation has of the catalog: which vendors, tiers and actions are on, and what turns the others on.
import { eachOf, type Steps } from "../core/slices.ts";
import type { Adapter, Audience, Catalog } from "./catalog.ts";
import { envName } from "./configure.ts";
import { byFirstPrice, tierModels } from "./price-answers.ts";
import { SESSION_ACTIONS } from "./session.ts";
import { variablesOf } from "./variables.ts";

export interface InstalledProvider {
  /** The adapter's id. */
  readonly id: string;
  readonly name: string;
  readonly on: boolean;
  /** What must be set to turn it on, all of it; empty: nothing that the operator sets will do. */
  readonly variables: readonly string[];
  /** The address that turns it on as well, where the operator may run it himself; null: he may not. */
  readonly self_hosted_by: string | null;
  /** What the gateway lacks for it; null: nothing. */
  readonly waits_for: string | null;
  readonly sells_models: boolean;
  /** Any model can be asked for as `<id>/<model>`. */
  readonly serves_any: boolean;
  /** How many actions it sells. */
  readonly actions: number;
}

/** How many candidates of a tier have a provider that serves them. */
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

function providerOf({ id, spec, configured }: Adapter): InstalledProvider {
  return {
    id,
    name: spec.name,
    on: configured,
    variables: variablesOf(id, spec),
    self_hosted_by: spec.selfHosted === undefined ? null : envName(id, "BASE_URL"),
    waits_for: spec.waitsFor ?? null,
    // A provider that sells actions as well is told by those.
    sells_models: [spec.chat, spec.embeddings, spec.actions ? undefined : spec.unitModels].some(Boolean),
    serves_any: (spec.chat?.anyModel?.prices.length ?? 0) > 0,
    actions: Object.keys(spec.actions ?? {}).length + (spec.sessions === undefined ? 0 : SESSION_ACTIONS.length),
  };
}

/** As live accounts see it; the cheapest tier first. */
export function* installedOf(catalog: Catalog): Steps<Installed> {
  return {
    providers: yield* eachOf(catalog.adapters(LIVE).values(), providerOf),
    tiers: yield* eachOf(byFirstPrice(catalog, LIVE), (tier) => {
      const models = tierModels(tier, catalog, LIVE);
      return { id: tier.id, on: models.filter(({ offers }) => offers.length > 0).length, of: models.length };
    }),
  };
}

/** A model that a first call can ask for: the cheapest tier that is served, or else any model that is; null: none is. */
export function firstModelOf(catalog: Catalog, { tiers }: Installed): string | null {
  const tier = tiers.find(({ on }) => on > 0);
  if (tier !== undefined) return `core/${tier.id}`;
  return catalog.models(LIVE).find(({ listed, offers }) => listed && offers.length > 0)?.slug ?? null;
}
