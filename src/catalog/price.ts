// What tokens cost: a vendor's price list compiled to integers, the cost of a call, and the most a call can cost.
import { costOf, markUp, type Nano, type PicoPerToken, parseUsdPerMillion } from "../money.ts";
import type { TokenUsage } from "../route.ts";
import type { TokenPriceSpec } from "./adapter.ts";
import type { PriceStep, TokenPrice, TokenRates } from "./catalog.ts";

/** What a request can use at most; `inputTokensMax` covers cached tokens as well. */
export interface UsageBound {
  readonly inputTokensMax: number;
  readonly outputTokensMax: number;
}

const BUCKETS = [
  "input",
  "output",
  "cacheRead",
  "cacheWrite",
  "thousandth",
] as const satisfies readonly (keyof TokenRates)[];

/** A price of a thousand calls in USD is the price of a million of what a call has a thousand of. */
const THOUSAND = 1_000;

/** The rates of a call with this many prompt tokens (input + cache read + cache write). */
export function ratesOf(price: TokenPrice, promptTokens: number): TokenRates {
  let rates: TokenRates = price;
  for (const step of price.steps) {
    if (promptTokens <= step.promptTokens) break;
    rates = step;
  }
  return rates;
}

/** The cost of a call in nano-USD, rounded up once. */
export function costOfUsage(price: TokenPrice, usage: TokenUsage): Nano {
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens } = usage;
  const rates = ratesOf(price, inputTokens + cacheReadTokens + cacheWriteTokens);
  return costOf([
    [inputTokens, rates.input],
    [cacheReadTokens, rates.cacheRead],
    [cacheWriteTokens, rates.cacheWrite],
    [outputTokens, rates.output],
    [THOUSAND, rates.thousandth],
  ]);
}

/** The most that any usage within the bound can cost, in nano-USD: every token in the dearest bucket it could be in. */
export function boundOf(price: TokenPrice, bound: UsageBound): Nano {
  let prompt = dearestPrompt(price);
  let { output } = price;
  for (const step of price.steps) {
    if (bound.inputTokensMax <= step.promptTokens) continue;
    prompt = dearer(prompt, dearestPrompt(step));
    output = dearer(output, step.output);
  }
  return costOf([
    [bound.inputTokensMax, prompt],
    [bound.outputTokensMax, output],
    [THOUSAND, price.thousandth],
  ]);
}

function dearestPrompt({ input, cacheRead, cacheWrite }: TokenRates): PicoPerToken {
  return dearer(input, dearer(cacheRead, cacheWrite));
}

function dearer(a: PicoPerToken, b: PicoPerToken): PicoPerToken {
  return a > b ? a : b;
}

/** Throws RangeError on what is no price in USD per million tokens; files are checked before, so that would be our bug. */
function picoOf(text: string): PicoPerToken {
  const pico = parseUsdPerMillion(text);
  if (pico === null) throw new RangeError(`not a price in USD per million tokens: ${text}`);
  return pico;
}

function compileRates(spec: Omit<TokenPriceSpec, "since" | "steps">, thousandCalls = "0"): TokenRates {
  return {
    thousandth: picoOf(thousandCalls),
    input: picoOf(spec.input),
    output: picoOf(spec.output),
    cacheRead: picoOf(spec.cacheRead ?? spec.input),
    cacheWrite: picoOf(spec.cacheWrite ?? spec.input),
  };
}

/** Compiles a price that has passed validation. `name` begins its version: a slug, or an adapter and its model. */
export function compilePrice(spec: TokenPriceSpec, name: string): TokenPrice {
  const steps = (spec.steps ?? []).map((step) => ({
    ...compileRates(step, spec.thousandCalls),
    promptTokens: step.promptTokens,
  }));
  return { ...compileRates(spec, spec.thousandCalls), steps, since: spec.since, version: `${name}@${spec.since}` };
}

/** The price of a day (`YYYY-MM-DD`): the last that has begun; null before the first. */
export function priceOn(day: string, prices: readonly TokenPriceSpec[]): TokenPriceSpec | null {
  return prices.findLast((price) => price.since <= day) ?? null;
}

function mapRates(rates: TokenRates, change: (price: PicoPerToken) => PicoPerToken): TokenRates {
  return {
    input: change(rates.input),
    output: change(rates.output),
    cacheRead: change(rates.cacheRead),
    cacheWrite: change(rates.cacheWrite),
    thousandth: change(rates.thousandth),
  };
}

/** A cost price with our markup on every bucket; its version says so. */
export function sellAt(cost: TokenPrice, percent: number): TokenPrice {
  if (percent === 0) return cost;
  const up = (price: PicoPerToken) => markUp(price, percent);
  const steps = cost.steps.map((step) => ({ ...mapRates(step, up), promptTokens: step.promptTokens }));
  return { ...mapRates(cost, up), steps, since: cost.since, version: `${cost.version}+${percent}%` };
}

/** The prompt lengths above which one of the prices changes. */
function lengthsOf(prices: readonly TokenPrice[]): readonly number[] {
  const lengths = new Set(prices.flatMap((price) => price.steps.map((step) => step.promptTokens)));
  return [...lengths].sort((a, b) => a - b);
}

/** The dearest of several prices in every bucket and for every prompt length: selling at it, no candidate makes a loss. */
export function dearest(prices: readonly [TokenPrice, ...TokenPrice[]], name: string): TokenPrice {
  const above = (promptTokens: number): TokenRates => {
    const all = prices.map((price) => ratesOf(price, promptTokens + 1));
    const most = (bucket: keyof TokenRates) => all.map((rates) => rates[bucket]).reduce(dearer);
    return {
      input: most("input"),
      output: most("output"),
      cacheRead: most("cacheRead"),
      cacheWrite: most("cacheWrite"),
      thousandth: most("thousandth"),
    };
  };
  const steps = lengthsOf(prices).map((promptTokens): PriceStep => ({ ...above(promptTokens), promptTokens }));
  const since =
    prices
      .map((price) => price.since)
      .sort()
      .at(-1) ?? prices[0].since;
  return { ...above(0), steps, since, version: `${name}@${since}` };
}

/** Whether some usage costs more at `cost` than at `sale`. */
export function isDearer(cost: TokenPrice, sale: TokenPrice): boolean {
  return [0, ...lengthsOf([cost, sale])].some((promptTokens) => {
    const ours = ratesOf(cost, promptTokens + 1);
    const theirs = ratesOf(sale, promptTokens + 1);
    return BUCKETS.some((bucket) => ours[bucket] > theirs[bucket]);
  });
}

/** For putting offers in order: three tokens of prompt to one of answer, which is what a typical call looks like. */
export function blendOf(price: TokenPrice): number {
  return 3 * price.input + price.output;
}
