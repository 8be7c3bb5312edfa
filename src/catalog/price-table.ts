// The output of `tollgate prices`: one line per model, as text or as rows for programs.

import { usdPerMillionText } from "../core/money.ts";
import { eachOf, type Steps } from "../core/slices.ts";
import type { Audience, Catalog, SoldEmbedding, SoldModel, SoldUnitModel, TokenRates } from "./catalog.ts";
import { type TierPriceRow, timeText } from "./price-answers.ts";
import { unitPriceText } from "./unit-price.ts";

/** A row of the price list; prices are decimal strings in USD per million tokens. */
export type PriceRow = ReturnType<typeof rowOf>;

const inOut = ({ input, output }: Pick<TokenRates, "input" | "output">) => {
  return { input: usdPerMillionText(input), output: usdPerMillionText(output) };
};

function rowOf({ slug, sale, contextTokens, offers, tooDear }: SoldModel | SoldEmbedding) {
  return {
    model: slug,
    input: usdPerMillionText(sale.input),
    cached: usdPerMillionText(sale.cacheRead),
    output: usdPerMillionText(sale.output),
    contextTokens,
    /** Prices for longer prompts. */
    steps: sale.steps.map(({ promptTokens, ...step }) => ({ promptTokens, ...inOut(step) })),
    /** Prices at other hours of the day, UTC. */
    hours: sale.hours.map(({ fromMinute, untilMinute, price }) => {
      return { from: timeText(fromMinute), until: timeText(untilMinute), ...inOut(price) };
    }),
    since: sale.since,
    /** The configured adapters that serve it, in order of use. */
    providers: offers.map((offer) => offer.adapter.id),
    /** Configured adapters that cost more than the sale price: they do not serve it. */
    tooDear,
  };
}

/** Every chat and embedding model with today's sale price, by slug. */
export function* priceRows(catalog: Catalog, audience: Audience): Steps<readonly PriceRow[]> {
  const rows = yield* eachOf([...catalog.models(audience), ...catalog.embeddings(audience)], rowOf);
  return rows.sort((a, b) => (a.model < b.model ? -1 : 1));
}

function shortCount(tokens: number): string {
  return tokens >= 1_000_000 ? `${Math.round(tokens / 100_000) / 10}M` : `${Math.round(tokens / 1_000)}k`;
}

export const PRICE_TITLE = "Sale prices in USD per million tokens";
export const PRICE_HEADING = ["MODEL", "INPUT", "CACHED", "OUTPUT", "CONTEXT", "SERVED BY"];

/** A row as table cells, plus one line for each long-prompt price. */
export function priceLines(row: PriceRow): readonly (readonly string[])[] {
  const providers = row.providers.join(", ") || "-";
  return [
    [row.model, row.input, row.cached, row.output, shortCount(row.contextTokens), providers],
    ...row.hours.map((at) => [`  ${at.from} to ${at.until} UTC`, at.input, "", at.output, "", ""]),
    ...row.steps.map((step) => [`  above ${shortCount(step.promptTokens)}`, step.input, "", step.output, "", ""]),
  ];
}

/** A tier as table cells, with the maximum price of a call. */
export function tierPriceLines({ price_max, candidates, ...row }: TierPriceRow): readonly (readonly string[])[] {
  const usd = (one: typeof price_max) =>
    [one.prompt_usd_per_million, one.cache_read_usd_per_million, one.completion_usd_per_million].map(String);
  const first = [row.model, ...usd(row), shortCount(row.context_length), candidates.join(", ") || "-"];
  return [first, ["  at most", ...usd(price_max), "", ""]];
}

/** A row of the unit price list; prices are decimal strings in USD, by unit. */
export type UnitPriceRow = ReturnType<typeof unitRowOf>;

function unitRowOf({ slug, kind, sale, offers }: SoldUnitModel) {
  const providers = offers.map(({ adapter }) => adapter.id);
  return { model: slug, kind, usd: unitPriceText(sale), since: sale.since, providers };
}

/** Every model priced by units with today's sale price, by slug. */
export function unitPriceRows(catalog: Catalog, audience: Audience): Steps<readonly UnitPriceRow[]> {
  return eachOf(catalog.unitModels(audience), unitRowOf);
}

export const UNIT_PRICE_TITLE = "Sale prices by units, in USD";
export const UNIT_PRICE_HEADING = ["MODEL", "KIND", "PRICES", "SERVED BY"];

export function unitPriceCells({ model, kind, usd, providers }: UnitPriceRow): readonly string[] {
  const prices = Object.entries(usd).map(([unit, price]) => `${unit.replaceAll("_", " ")} ${price}`);
  return [model, kind, prices.join(", ") || "free", providers.join(", ") || "-"];
}
