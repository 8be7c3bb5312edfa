// The free answers about prices: the list of models, one model, and the price list with its tiers.
import { costOf, usdPerMillionText, usdPerTokenText, usdText } from "../core/money.ts";
import { eachOf } from "../core/slices.ts";
import type {
  Audience,
  Catalog,
  SoldEmbedding,
  SoldModel,
  SoldUnitModel,
  Tier,
  TokenPrice,
  TokenRates,
} from "./catalog.ts";
import { findEither, findTier, realtimeModels, tierName } from "./find-model.ts";
import { modelFacts, nameOf, unitFacts } from "./model-facts.ts";
import { blendOf, dearest } from "./price.ts";
import { unitPriceText } from "./unit-price.ts";

type Sold = SoldModel | SoldEmbedding;

function perToken(rates: TokenRates) {
  return {
    prompt: usdPerTokenText(rates.input),
    completion: usdPerTokenText(rates.output),
    input_cache_read: usdPerTokenText(rates.cacheRead),
    input_cache_write: usdPerTokenText(rates.cacheWrite),
    // Per call, as other model lists show it; undefined, and thus absent from the JSON, if calls cost only their tokens.
    request: rates.thousandth === 0 ? undefined : usdText(costOf([1_000], [rates.thousandth])),
  };
}

/** As JSON numbers: the decimal text of a price is short enough for a double to represent. */
function perMillion(rates: TokenRates) {
  const number = (price: TokenRates["input"]) => Number(usdPerMillionText(price));
  return {
    prompt_usd_per_million: number(rates.input),
    completion_usd_per_million: number(rates.output),
    cache_read_usd_per_million: number(rates.cacheRead),
    cache_write_usd_per_million: number(rates.cacheWrite),
    usd_per_thousand_calls: rates.thousandth === 0 ? undefined : number(rates.thousandth),
  };
}

/** Prices for longer prompts; undefined, and thus absent from the JSON, if the length does not matter. */
function longPrompts<Row>(price: TokenPrice, row: (rates: TokenRates) => Row) {
  if (price.steps.length === 0) return undefined;
  return price.steps.map((step) => ({ min_prompt_tokens: step.promptTokens + 1, ...row(step) }));
}

/** A minute of the day as `HH:MM`. */
export function timeText(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}`;
}

/** Prices at other hours, in UTC; undefined if the hour does not matter. */
function atHours<Row>({ hours }: TokenPrice, row: (rates: TokenRates) => Row) {
  if (hours.length === 0) return undefined;
  return hours.map(({ fromMinute, untilMinute, weekdaysOnly, price }) => {
    return { from: timeText(fromMinute), until: timeText(untilMinute), weekdays_only: weekdaysOnly, ...row(price) };
  });
}

/** Whether sandbox accounts can call it, independent of the current caller. */
function inSandbox({ slug, kind }: Sold, catalog: Catalog): boolean {
  const own = { sandbox: true };
  const model = kind === "chat" ? catalog.model(slug, own) : catalog.embedding(slug, own);
  return model !== null && model.offers.length > 0;
}

function createdOf(price: Pick<TokenPrice, "since">): number {
  return Date.parse(`${price.since}T00:00:00Z`) / 1000;
}

function pricingOf(price: TokenPrice) {
  return { ...perToken(price), overrides: longPrompts(price, perToken), hours_utc: atHours(price, perToken) };
}

function modelRow(model: Sold, catalog: Catalog) {
  return {
    id: model.slug,
    object: "model",
    created: createdOf(model.sale),
    owned_by: model.slug.split("/")[0],
    kind: model.kind,
    ...modelFacts(model, catalog),
    /** Whether a configured provider serves it to this caller. */
    available: model.offers.length > 0,
    sandbox: inSandbox(model, catalog),
    context_length: model.contextTokens,
    max_output_tokens: model.outputTokensMax,
    pricing: pricingOf(model.sale),
    expiration_date: model.retires?.on,
    successor: model.retires?.successor,
  };
}

/** The prices of a realtime model per token, under the names that other lists use. */
function realtimePricing({ rates }: SoldUnitModel["sale"]) {
  const per = (unit: string) => {
    const rate = rates.get(unit);
    return rate === undefined ? undefined : usdPerTokenText(rate);
  };
  return {
    prompt: per("textIn"),
    completion: per("textOut"),
    input_cache_read: per("cachedIn"),
    audio_input: per("audioIn"),
    audio_output: per("audioOut"),
    audio_cache_read: per("cachedAudioIn"),
    image_input: per("imageIn"),
  };
}

/** A model priced by units: its prices are named by unit. */
function unitModelRow({ slug, kind, sale, offers, retires }: SoldUnitModel, catalog: Catalog) {
  return {
    id: slug,
    object: "model",
    created: createdOf(sale),
    owned_by: slug.split("/")[0],
    kind,
    ...unitFacts(slug, kind),
    available: offers.length > 0,
    sandbox: (catalog.unitModel(kind, slug, { sandbox: true })?.offers.length ?? 0) > 0,
    pricing: kind === "realtime" ? realtimePricing(sale) : unitPriceText(sale),
    expiration_date: retires?.on,
    successor: retires?.successor,
  };
}

/** A tier's models for an audience, in order. The operator's own server counts once the operator names its model. */
export function tierModels({ models }: Tier, catalog: Catalog, audience: Audience): readonly SoldModel[] {
  const known = new Set(catalog.models(audience).map(({ slug }) => slug));
  return models
    .map((slug) => catalog.model(slug, audience))
    .filter((model) => model !== null)
    .filter(({ slug }) => known.has(slug));
}

export type TierListed = NonNullable<ReturnType<typeof tierListed>>;

/**
 * What a tier is listed by: the candidate that serves while healthy (the first configured one, or the first if none is configured), the
 * configured candidates in order of use, and in each bucket the price of the most expensive one. Null if none is sold.
 */
export function tierListed(tier: Tier, catalog: Catalog, audience: Audience) {
  const models = tierModels(tier, catalog, audience);
  const served = models.filter(({ offers }) => offers.length > 0);
  const [first, ...rest] = served.length > 0 ? served : models;
  if (first === undefined) return null;
  return { first, served, priceMax: dearest([first.sale, ...rest.map(({ sale }) => sale)], tierName(tier)) };
}

/** A tier in the form of a model: price and limits of its first available candidate, with the maximum price of a call. */
function tierRow(tier: Tier, catalog: Catalog, audience: Audience) {
  const listed = tierListed(tier, catalog, audience);
  if (listed === null) return null;
  const { first, served, priceMax } = listed;
  return {
    ...modelRow(first, catalog),
    id: tierName(tier),
    owned_by: "core",
    kind: "tier",
    name: nameOf(tierName(tier)),
    description: tier.purpose,
    candidates: served.map(({ slug }) => slug),
    sandbox: tierModels(tier, catalog, audience).some((model) => inSandbox(model, catalog)),
    price_max: pricingOf(priceMax),
    expiration_date: undefined,
    successor: undefined,
  };
}

/** A tier of realtime models, at the price of its first available one. */
function realtimeTierRows(catalog: Catalog, audience: Audience) {
  return [...catalog.realtimeTiers.values()].flatMap((tier) => {
    const models = realtimeModels(tier, catalog, audience);
    const served = models.filter(({ offers }) => offers.length > 0);
    const [first] = served.length > 0 ? served : models;
    if (first === undefined) return [];
    const id = tierName(tier);
    const candidates = served.map(({ slug }) => slug);
    const own = { id, owned_by: "core", name: nameOf(id), description: tier.purpose, candidates };
    return [{ ...unitModelRow(first, catalog), ...own, expiration_date: undefined, successor: undefined }];
  });
}

/** Ordered by the price of the first candidate, cheapest first. */
export function byFirstPrice(catalog: Catalog, audience: Audience): readonly Tier[] {
  const blend = (tier: Tier) => {
    const listed = tierListed(tier, catalog, audience);
    return listed === null ? Number.POSITIVE_INFINITY : blendOf(listed.first.sale);
  };
  const priced = [...catalog.tiers.values()].map((tier) => ({ tier, blend: blend(tier) }));
  return priced.sort((a, b) => a.blend - b.blend).map(({ tier }) => tier);
}

function priceRow(model: Sold) {
  return {
    model: model.slug,
    kind: model.kind,
    ...perMillion(model.sale),
    long_prompts: longPrompts(model.sale, perMillion),
    hours_utc: atHours(model.sale, perMillion),
    context_length: model.contextTokens,
    available: model.offers.length > 0,
    since: model.sale.since,
  };
}

/** Tiers as the model list shows them, in USD per million tokens; the cheapest first. */
export function tierPriceRows(catalog: Catalog, audience: Audience) {
  return byFirstPrice(catalog, audience).flatMap((tier) => {
    const listed = tierListed(tier, catalog, audience);
    if (listed === null) return [];
    const candidates = listed.served.map(({ slug }) => slug);
    const price_max = perMillion(listed.priceMax);
    return [{ ...priceRow(listed.first), model: tierName(tier), kind: "tier", candidates, price_max }];
  });
}
export type TierPriceRow = ReturnType<typeof tierPriceRows>[number];

/** `GET /api/llm/v1/models`: OpenAI's list shape, tiers first; prices are decimal strings in USD per token. */
export function* modelsAnswer(catalog: Catalog, audience: Audience) {
  const tiers = yield* eachOf(byFirstPrice(catalog, audience), (tier) => tierRow(tier, catalog, audience));
  const models = yield* eachOf(catalog.listed(audience), (model) => modelRow(model, catalog));
  // A chat model that also has unit prices is one model; its other prices are in the price list.
  const ids = new Set(models.map(({ id }) => id));
  const listed = catalog.unitModels(audience).filter((model) => model.listed && !ids.has(model.slug));
  const byUnits = new Map(yield* eachOf(listed, (model) => [model.slug, unitModelRow(model, catalog)] as const));
  return {
    object: "list",
    data: [
      ...tiers.filter((row) => row !== null),
      ...realtimeTierRows(catalog, audience),
      ...models,
      ...byUnits.values(),
    ],
  };
}

/** `GET /api/llm/v1/models/{slug}`: one row of the list, by any name that calls accept. Throws where there is none. */
export function modelAnswer(catalog: Catalog, name: string, audience: Audience) {
  const tier = findTier(name, catalog);
  const row = tier === null ? null : tierRow(tier, catalog, audience);
  if (row != null) return row;
  const realtime = realtimeTierRows(catalog, audience).find(({ id }) => id === name || id === `core/${name}`);
  if (realtime !== undefined) return realtime;
  const byUnits = () =>
    catalog.unitModels(audience).find(({ kind, slug }) => {
      return slug === name || catalog.unitModel(kind, name, audience)?.slug === slug;
    });
  const model = findEither(name, catalog, audience, byUnits);
  return "contextTokens" in model ? modelRow(model, catalog) : unitModelRow(model, catalog);
}

/** `GET /api/llm/v1/pricing`: each tier's candidates in order, and every model's price in USD per million tokens. */
export function* pricingAnswer(catalog: Catalog, audience: Audience) {
  const tiers = yield* eachOf(catalog.tiers.values(), (tier) => {
    return [tier.id, tierModels(tier, catalog, audience).map(({ slug }) => slug)] as const;
  });
  const tier_prices = tierPriceRows(catalog, audience);
  const listed = catalog.unitModels(audience).filter((model) => model.listed);
  const byUnits = yield* eachOf(listed, ({ slug, kind, sale, offers }) => {
    return { model: slug, kind, usd: unitPriceText(sale), available: offers.length > 0, since: sale.since };
  });
  const models = yield* eachOf(catalog.listed(audience), priceRow);
  return { tiers: Object.fromEntries(tiers), tier_prices, models, unit_models: byUnits };
}
