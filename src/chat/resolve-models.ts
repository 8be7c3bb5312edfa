// From the names a caller wrote to the models that can serve, in order: tiers open into their candidates.
import type { Catalog, SoldModel } from "../catalog/catalog.ts";
import { GatewayError } from "../errors.ts";

const TIER_PREFIX = "core/";

/** A model to try, and how long it may take to its first content while another remains. */
export interface Wanted {
  readonly model: SoldModel;
  readonly firstTokenMsMax: number;
}

export interface ResolveSettings {
  readonly sandbox: boolean;
  /** For models asked for by slug. */
  readonly firstTokenMsMax: number;
  /** Replaces what tiers say themselves. */
  readonly firstTokenMsMaxByTier: Readonly<Record<string, number>>;
}

/** The slug without a suffix such as `:online`, where the catalog does not sell the suffixed slug itself. */
function suffixOf(name: string): string | null {
  const colon = name.lastIndexOf(":");
  return colon < 0 ? null : name.slice(colon);
}

function notFound(name: string, param: string): GatewayError {
  return new GatewayError("model_not_found", { param, detail: { model: name } });
}

/** The models behind one name. */
function open(name: string, param: string, catalog: Catalog, settings: ResolveSettings): Wanted[] | GatewayError {
  const tier = catalog.tiers.get(name.startsWith(TIER_PREFIX) ? name.slice(TIER_PREFIX.length) : name);
  if (tier !== undefined) {
    const firstTokenMsMax = settings.firstTokenMsMaxByTier[tier.id] ?? tier.firstTokenMsMax;
    return tier.models.flatMap((slug) => {
      const model = catalog.model(slug, settings);
      return model === null ? [] : [{ model, firstTokenMsMax }];
    });
  }
  const model = catalog.model(name, settings);
  if (model !== null) return [{ model, firstTokenMsMax: settings.firstTokenMsMax }];
  const suffix = suffixOf(name);
  const bare = suffix === null ? null : catalog.model(name.slice(0, -suffix.length), settings);
  if (suffix === null || bare === null) return notFound(name, param);
  return new GatewayError("unsupported_field", {
    param,
    detail: { detail: `the suffix ${suffix} asks for something that is billed apart; ask for ${bare.slug}` },
  });
}

/**
 * Opens every name into models that somebody is configured to serve, first mention first. An unknown name is an error
 * even where others would do: the caller has mistyped it.
 */
export function resolveModels(
  wanted: readonly { readonly name: string; readonly param: string }[],
  catalog: Catalog,
  settings: ResolveSettings,
): readonly Wanted[] | GatewayError {
  const found = new Map<string, Wanted>();
  for (const { name, param } of wanted) {
    const opened = open(name, param, catalog, settings);
    if (opened instanceof GatewayError) return opened;
    for (const candidate of opened) {
      if (!found.has(candidate.model.slug)) found.set(candidate.model.slug, candidate);
    }
  }
  const served = [...found.values()].filter(({ model }) => model.offers.length > 0);
  if (served.length > 0) return served;
  const names = wanted.map(({ name }) => name).join(", ");
  return new GatewayError("upstream_not_configured", { detail: { detail: names } });
}
