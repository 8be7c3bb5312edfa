// The free answers about prices: the list of models, one model, and the price list with its tiers.
import { usdPerMillionText, usdPerTokenText } from "../money.ts";
import type { Audience, Catalog, SoldEmbedding, SoldModel, TokenPrice, TokenRates } from "./catalog.ts";

type Sold = SoldModel | SoldEmbedding;

function perToken(rates: TokenRates) {
  return {
    prompt: usdPerTokenText(rates.input),
    completion: usdPerTokenText(rates.output),
    input_cache_read: usdPerTokenText(rates.cacheRead),
    input_cache_write: usdPerTokenText(rates.cacheWrite),
  };
}

/** JSON numbers here: the decimal text of a price is short enough for a double to keep it. */
function perMillion(rates: TokenRates) {
  const number = (price: TokenRates["input"]) => Number(usdPerMillionText(price));
  return {
    prompt_usd_per_million: number(rates.input),
    completion_usd_per_million: number(rates.output),
    cache_read_usd_per_million: number(rates.cacheRead),
    cache_write_usd_per_million: number(rates.cacheWrite),
  };
}

/** What calls cost whose prompt is longer; undefined, and so not in the JSON, where the length does not matter. */
function longPrompts<Row>(price: TokenPrice, row: (rates: TokenRates) => Row) {
  if (price.steps.length === 0) return undefined;
  return price.steps.map((step) => ({ min_prompt_tokens: step.promptTokens + 1, ...row(step) }));
}

function modelRow(model: Sold) {
  return {
    id: model.slug,
    object: "model",
    created: Date.parse(`${model.sale.since}T00:00:00Z`) / 1000,
    owned_by: model.slug.split("/")[0],
    kind: model.kind,
    /** Whether somebody is configured to serve it. */
    available: model.offers.length > 0,
    context_length: model.contextTokens,
    max_output_tokens: model.outputTokensMax,
    pricing: { ...perToken(model.sale), overrides: longPrompts(model.sale, perToken) },
  };
}

function priceRow(model: Sold) {
  return {
    model: model.slug,
    kind: model.kind,
    ...perMillion(model.sale),
    long_prompts: longPrompts(model.sale, perMillion),
    context_length: model.contextTokens,
    available: model.offers.length > 0,
    since: model.sale.since,
  };
}

function allSold(catalog: Catalog, audience: Audience): readonly Sold[] {
  return [...catalog.models(audience), ...catalog.embeddings(audience)].sort((a, b) => (a.slug < b.slug ? -1 : 1));
}

/** `GET /api/llm/v1/models`: OpenAI's list shape; prices are decimal strings in USD per token. */
export function modelsAnswer(catalog: Catalog, audience: Audience) {
  return { object: "list", data: allSold(catalog, audience).map(modelRow) };
}

/** `GET /api/llm/v1/models/{slug}`: one row of the list; null where there is no such model. */
export function modelAnswer(catalog: Catalog, slug: string, audience: Audience) {
  const model = catalog.model(slug, audience) ?? catalog.embedding(slug, audience);
  return model === null ? null : modelRow(model);
}

/**
 * `GET /api/llm/v1/pricing`: what each tier tries, in order, and the price of every model in USD per million tokens.
 * A tier's place for the operator's own server is listed once he names its model.
 */
export function pricingAnswer(catalog: Catalog, audience: Audience) {
  const known = new Set(catalog.models(audience).map((model) => model.slug));
  const tiers = [...catalog.tiers.values()].map((tier) => {
    const slugs = tier.models.map((slug) => catalog.model(slug, audience)?.slug ?? slug);
    return [tier.id, slugs.filter((slug) => known.has(slug))] as const;
  });
  return { tiers: Object.fromEntries(tiers), models: allSold(catalog, audience).map(priceRow) };
}
