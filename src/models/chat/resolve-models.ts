// Resolves the names in a request to models that can serve, in order; tiers expand to their candidates.

import type { Catalog, SoldModel, Tier } from "../../catalog/catalog.ts";
import { findModel, findStandIn, findTier, knownModel, tierName } from "../../catalog/find-model.ts";
import type { ModelEnd } from "../../catalog/said.ts";
import { GatewayError } from "../../core/errors.ts";
import { headerSafe } from "../formats/known-fields.ts";

/** A model to try, and its time limit to first content while others remain. */
export interface Wanted {
  readonly model: SoldModel;
  readonly firstTokenMsMax: number;
  /** The index of the caller's model name that it came from. */
  readonly place: number;
}

export interface ResolveSettings {
  readonly sandbox: boolean;
  /** For models named by slug. */
  readonly firstTokenMsMax: number;
  readonly firstTokenMsMaxByTier: Readonly<Record<string, number>>;
  /** Serve the next lower tier in place of a named one. */
  readonly lowers?: boolean;
}

/** A header and its value: `core/best=core/mid` where a budget has lowered a tier, `claude-opus-9=core/best` for an unknown model name. */
export type InPlace = readonly [header: "x-tollgate-lowered" | "x-tollgate-stand-in", says: string];

/** The models of one name, and the name as keys' lists and postings contain it. */
interface Opened {
  readonly name: string;
  readonly models: readonly Omit<Wanted, "place">[];
  /** When the named model retires. Null for a tier, whose other models take over. */
  readonly retires: ModelEnd | null;
  readonly serves?: readonly InPlace[];
}

/** Keeps the requested tier's name, whichever tier serves: keys' lists and postings use that name. */
function openTier(tier: Tier, catalog: Catalog, settings: ResolveSettings): Opened {
  const below = settings.lowers === true && tier.lower !== null ? findTier(tier.lower, catalog) : null;
  if (below === null) return openedTier(tier, catalog, settings);
  const { models } = openedTier(below, catalog, settings);
  if (models.every(({ model }) => model.offers.length === 0)) return openedTier(tier, catalog, settings);
  const serves = [["x-tollgate-lowered", `${tierName(tier)}=${tierName(below)}`]] as const;
  return { name: tierName(tier), models, retires: null, serves };
}

function openedTier(tier: Tier, catalog: Catalog, settings: ResolveSettings): Opened {
  const firstTokenMsMax = settings.firstTokenMsMaxByTier[tier.id] ?? tier.firstTokenMsMax;
  const models = tier.models.flatMap((slug) => {
    const model = catalog.model(slug, settings);
    return model === null ? [] : [{ model, firstTokenMsMax }];
  });
  return { name: tierName(tier), models, retires: null };
}

function open(name: string, param: string, catalog: Catalog, settings: ResolveSettings): Opened {
  const tier = findTier(name, catalog);
  if (tier !== null) return openTier(tier, catalog, settings);
  // Some clients append a model's release date, which the catalog does not have.
  const known = knownModel(name, catalog, settings) ?? knownModel(name.replace(/-20\d{6}$/, ""), catalog, settings);
  const standIn = known !== null && known.offers.length > 0 ? null : findStandIn(name, catalog);
  if (standIn !== null) {
    const opened = openTier(standIn, catalog, settings);
    const served: InPlace = ["x-tollgate-stand-in", `${headerSafe(name)}=${tierName(standIn)}`];
    return { ...opened, serves: [served, ...(opened.serves ?? [])] };
  }
  const model = known ?? findModel(name, param, catalog, settings);
  return { name: model.slug, models: [{ model, firstTokenMsMax: settings.firstTokenMsMax }], retires: model.retires };
}

export interface Resolved {
  /** Models with a configured provider, in order of first mention. */
  readonly models: readonly Wanted[];
  /** The full names (`core/cheap`, `openai/gpt-4o-mini`), each with the field it came from. */
  readonly asked: readonly { readonly name: string; readonly param: string }[];
  readonly ends: readonly ModelEnd[];
  readonly serves: readonly InPlace[];
}

/** Resolves all names, in order of first mention. An unknown name is an error even if others would do: it is a typo. */
export function resolveModels(
  wanted: readonly { readonly name: string; readonly param: string }[],
  catalog: Catalog,
  settings: ResolveSettings,
): Resolved {
  const [only] = wanted;
  if (only !== undefined && wanted.length === 1) return resolvedOne(only, catalog, settings);
  const models: Wanted[] = [];
  const asked: Resolved["asked"][number][] = [];
  const ends: ModelEnd[] = [];
  const serves: InPlace[] = [];
  for (const { name, param } of wanted) {
    const place = asked.length;
    const opened = open(name, param, catalog, settings);
    asked.push({ name: opened.name, param });
    if (opened.retires !== null) ends.push(opened.retires);
    serves.push(...(opened.serves ?? NONE));
    for (const { model, firstTokenMsMax } of opened.models) {
      if (model.offers.length === 0 || models.some((known) => known.model.slug === model.slug)) continue;
      models.push({ model, firstTokenMsMax, place });
    }
  }
  if (models.length > 0) return { models, asked, ends, serves };
  throw notConfigured(wanted.map(({ name }) => name).join(", "));
}

function notConfigured(names: string): GatewayError {
  return new GatewayError("upstream_not_configured", { detail: names });
}

const NONE: readonly never[] = [];

function firstOfEach(models: Opened["models"]): Opened["models"] {
  return models.filter((one, at) => models.findIndex(({ model }) => model.slug === one.model.slug) === at);
}

/** The common case of a single name, without intermediate lists. */
function resolvedOne(
  { name, param }: { readonly name: string; readonly param: string },
  catalog: Catalog,
  settings: ResolveSettings,
): Resolved {
  const opened = open(name, param, catalog, settings);
  const { retires, serves = NONE } = opened;
  const configured = opened.models.filter(({ model }) => model.offers.length > 0);
  const served = configured.length < 2 ? configured : firstOfEach(configured);
  if (served.length === 0) throw notConfigured(name);
  return {
    models: served.map(({ model, firstTokenMsMax }) => ({ model, firstTokenMsMax, place: 0 })),
    asked: [{ name: opened.name, param }],
    ends: retires === null ? NONE : [retires],
    serves,
  };
}
