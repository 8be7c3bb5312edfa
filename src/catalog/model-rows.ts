// Compact notation for model tables in adapters: one line per model with its limits and prices.
import type { TokenPriceSpec } from "./token-price.ts";

type Rates = Pick<TokenPriceSpec, "input" | "output" | "cacheRead" | "cacheWrite">;

/** Rates in USD per million tokens, as `input/output/cacheRead/cacheWrite`. A cache rate that is left out equals `input`. */
export function usd(text: string): Rates {
  const [input = "", output = "", cacheRead, cacheWrite] = text.split("/");
  const reads = cacheRead === undefined ? {} : { cacheRead };
  return { input, output, ...reads, ...(cacheWrite === undefined ? {} : { cacheWrite }) };
}

/** The context, and the longest answer if known. */
type Sizes = readonly [contextTokens: number, outputTokensMax?: number];

/** The rates for the whole call if its prompt is longer than `promptTokens`. */
type Step = readonly [promptTokens: number, rates: string];

/** Builds rows whose prices start on `since` unless a row names another day. */
export function modelRows(since: string) {
  const price = (rates: string, from = since, ...steps: readonly Step[]): { prices: TokenPriceSpec[] } => {
    const longer = steps.map(([promptTokens, step]) => ({ promptTokens, ...usd(step) }));
    return { prices: [{ since: from, ...usd(rates), ...(longer.length === 0 ? {} : { steps: longer }) }] };
  };
  const sold = (slug: string, [contextTokens, outputTokensMax]: Sizes, rates: string, from = since) => ({
    slug,
    contextTokens,
    ...(outputTokensMax === undefined ? {} : { outputTokensMax }),
    ...price(rates, from),
  });
  /** Models that are sold under the vendor's names for them, behind their maker's. */
  const named = <Model>(maker: string, models: Readonly<Record<string, Model>>) =>
    Object.fromEntries(Object.entries(models).map(([name, model]) => [name, { ...model, slug: `${maker}/${name}` }]));
  return { price, sold, named };
}

export function ended(on: string, successor?: string) {
  return { retires: successor === undefined ? { on } : { on, successor } };
}
