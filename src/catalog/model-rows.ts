// Short forms for tables of models in adapters: a model with its sizes and prices in one line.
import type { TokenPriceSpec } from "./token-price.ts";

type Rates = Pick<TokenPriceSpec, "input" | "output" | "cacheRead" | "cacheWrite">;

/** Rates in USD per million tokens, as `input/output/cacheRead/cacheWrite`. Without a rate of their own, cached tokens cost `input`. */
export function usd(text: string): Rates {
  const [input = "", output = "", cacheRead, cacheWrite] = text.split("/");
  const reads = cacheRead === undefined ? {} : { cacheRead };
  return { input, output, ...reads, ...(cacheWrite === undefined ? {} : { cacheWrite }) };
}

/** The context, and the longest answer where it is known. */
type Sizes = readonly [contextTokens: number, outputTokensMax?: number];

/** The rates of the whole call once its prompt is longer than `promptTokens`. */
type Step = readonly [promptTokens: number, rates: string];

/** Rows whose prices begin on `since`, unless they name another day. */
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
  return { price, sold };
}

/** A model's end on that day, and what to call then. */
export function ended(on: string, successor?: string) {
  return { retires: successor === undefined ? { on } : { on, successor } };
}
