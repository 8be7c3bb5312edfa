// What `tollgate prices` prints: one line a model, as text for people or rows for programs.

import { usdPerMillionText } from "../core/money.ts";
import { eachOf, type Steps } from "../core/slices.ts";
import type { Audience, Catalog, SoldEmbedding, SoldModel } from "./catalog.ts";
import { type TierPriceRow, timeText } from "./price-answers.ts";
import { unitPriceText } from "./unit-price.ts";

/** A line of the price list; prices are decimal strings in USD per million tokens. */
export interface PriceRow {
  readonly model: string;
  readonly input: string;
  readonly cached: string;
  readonly output: string;
  readonly contextTokens: number;
  /** Prices of calls with longer prompts. */
  readonly steps: readonly { readonly promptTokens: number; readonly input: string; readonly output: string }[];
  /** Prices at other hours of the day, UTC. */
  readonly hours: readonly {
    readonly from: string;
    readonly until: string;
    readonly input: string;
    readonly output: string;
  }[];
  readonly since: string;
  /** The adapters configured to serve it, in the order in which they are tried. */
  readonly providers: readonly string[];
  /** Those that are configured and cost more than its price: they do not serve it. */
  readonly tooDear: readonly string[];
}

function rowOf({ slug, sale, contextTokens, offers, tooDear }: SoldModel | SoldEmbedding): PriceRow {
  return {
    model: slug,
    input: usdPerMillionText(sale.input),
    cached: usdPerMillionText(sale.cacheRead),
    output: usdPerMillionText(sale.output),
    contextTokens,
    steps: sale.steps.map((step) => ({
      promptTokens: step.promptTokens,
      input: usdPerMillionText(step.input),
      output: usdPerMillionText(step.output),
    })),
    hours: sale.hours.map(({ fromMinute, untilMinute, price }) => ({
      from: timeText(fromMinute),
      until: timeText(untilMinute),
      input: usdPerMillionText(price.input),
      output: usdPerMillionText(price.output),
    })),
    since: sale.since,
    providers: offers.map((offer) => offer.adapter.id),
    tooDear,
  };
}

/** Every chat and embedding model with its sale price of today, by slug. */
export function* priceRows(catalog: Catalog, audience: Audience): Steps<readonly PriceRow[]> {
  const rows = yield* eachOf([...catalog.models(audience), ...catalog.embeddings(audience)], rowOf);
  return rows.sort((a, b) => (a.model < b.model ? -1 : 1));
}

function shortCount(tokens: number): string {
  return tokens >= 1_000_000 ? `${Math.round(tokens / 100_000) / 10}M` : `${Math.round(tokens / 1_000)}k`;
}

export const PRICE_TITLE = "Sale prices in USD per million tokens";
export const PRICE_HEADING = ["MODEL", "INPUT", "CACHED", "OUTPUT", "CONTEXT", "SERVED BY"];

/** A row as cells below the heading, and one for each price of longer prompts. */
export function priceLines(row: PriceRow): readonly (readonly string[])[] {
  const providers = row.providers.join(", ") || "-";
  return [
    [row.model, row.input, row.cached, row.output, shortCount(row.contextTokens), providers],
    ...row.hours.map((at) => [`  ${at.from} to ${at.until} UTC`, at.input, "", at.output, "", ""]),
    ...row.steps.map((step) => [`  above ${shortCount(step.promptTokens)}`, step.input, "", step.output, "", ""]),
  ];
}

/** A tier as cells below the heading, and what a call can cost at most. */
export function tierPriceLines({ price_max, candidates, ...row }: TierPriceRow): readonly (readonly string[])[] {
  const usd = (one: typeof price_max) =>
    [one.prompt_usd_per_million, one.cache_read_usd_per_million, one.completion_usd_per_million].map(String);
  const first = [row.model, ...usd(row), shortCount(row.context_length), candidates.join(", ") || "-"];
  return [first, ["  at most", ...usd(price_max), "", ""]];
}

/** A line of the list of what is sold by units; prices are decimal strings in USD, by what they are for. */
export interface UnitPriceRow {
  readonly model: string;
  readonly kind: string;
  readonly usd: Readonly<Record<string, string>>;
  readonly since: string;
  readonly providers: readonly string[];
}

/** Every model that is sold by units with its sale price of today, by slug. */
export function unitPriceRows(catalog: Catalog, audience: Audience): Steps<readonly UnitPriceRow[]> {
  return eachOf(catalog.unitModels(audience), ({ slug, kind, sale, offers }) => {
    const providers = offers.map(({ adapter }) => adapter.id);
    return { model: slug, kind, usd: unitPriceText(sale), since: sale.since, providers };
  });
}

export const UNIT_PRICE_TITLE = "Sale prices by units, in USD";
export const UNIT_PRICE_HEADING = ["MODEL", "KIND", "PRICES", "SERVED BY"];

/** A row as cells below the heading. */
export function unitPriceCells({ model, kind, usd, providers }: UnitPriceRow): readonly string[] {
  const prices = Object.entries(usd).map(([unit, price]) => `${unit.replaceAll("_", " ")} ${price}`);
  return [model, kind, prices.join(", ") || "free", providers.join(", ") || "-"];
}
