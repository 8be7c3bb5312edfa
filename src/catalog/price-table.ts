// What `tollgate prices` prints: one line a model, as text for people or rows for programs.
import { usdPerMillionText } from "../money.ts";
import type { Audience, Catalog, SoldEmbedding, SoldModel } from "./catalog.ts";

/** A line of the price list; prices are decimal strings in USD per million tokens. */
export interface PriceRow {
  readonly model: string;
  readonly input: string;
  readonly cached: string;
  readonly output: string;
  readonly contextTokens: number;
  /** Prices of calls with longer prompts. */
  readonly steps: readonly { readonly promptTokens: number; readonly input: string; readonly output: string }[];
  readonly since: string;
  /** The adapters configured to serve it, in the order in which they are tried. */
  readonly providers: readonly string[];
}

function rowOf({ slug, sale, contextTokens, offers }: SoldModel | SoldEmbedding): PriceRow {
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
    since: sale.since,
    providers: offers.map((offer) => offer.adapter.id),
  };
}

/** Every chat and embedding model with its sale price of today, by slug. */
export function priceRows(catalog: Catalog, audience: Audience): readonly PriceRow[] {
  return [...catalog.models(audience), ...catalog.embeddings(audience)]
    .map(rowOf)
    .sort((a, b) => (a.model < b.model ? -1 : 1));
}

function shortCount(tokens: number): string {
  return tokens >= 1_000_000 ? `${Math.round(tokens / 100_000) / 10}M` : `${Math.round(tokens / 1_000)}k`;
}

function linesOf(row: PriceRow): readonly (readonly string[])[] {
  const providers = row.providers.join(", ") || "-";
  return [
    [row.model, row.input, row.cached, row.output, shortCount(row.contextTokens), providers],
    ...row.steps.map((step) => [`  above ${shortCount(step.promptTokens)}`, step.input, "", step.output, "", ""]),
  ];
}

const HEAD = ["model", "input", "cached", "output", "context", "configured providers"];

/** The rows as a table with aligned columns, numbers to the right. */
export function priceTable(rows: readonly PriceRow[]): string {
  const lines = [HEAD, ...rows.flatMap(linesOf)];
  const widths = HEAD.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  const cell = (text: string, at: number) => {
    const width = widths[at] ?? 0;
    return at === 0 || at === HEAD.length - 1 ? text.padEnd(width) : text.padStart(width);
  };
  const title = "Sale prices in USD per million tokens";
  return [title, "", ...lines.map((line) => line.map(cell).join("  ").trimEnd())].join("\n");
}
