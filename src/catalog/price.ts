// Token prices: compiles a vendor's price list to integers, and computes the cost of a call and its maximum.
import { costOf, markUp, type Nano, type PicoPerToken, parseUsdPerMillion } from "../core/money.ts";
import type { TokenUsage } from "../core/route.ts";
import type { PriceHours, PriceStep, TokenPrice, TokenRates } from "./catalog.ts";
import type { TokenPriceSpec } from "./token-price.ts";

/** The maximum usage of a request; `inputTokensMax` includes cached tokens. */
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

/** The price of 1,000 calls in USD per million units, if each call counts as 1,000 units. */
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
  return costOf(
    [inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, THOUSAND],
    [rates.input, rates.cacheRead, rates.cacheWrite, rates.output, rates.thousandth],
  );
}

/** A vendor without a lower price for cached tokens bills the whole prompt as input. */
function discountsCache({ input, cacheRead }: TokenRates): boolean {
  return cacheRead < input;
}

/** The usage charged: tokens that the vendor read from its cache but bills in full count as input, whatever the sale price. */
export function soldUsage(usage: TokenUsage, { cost, sale }: { readonly cost: TokenPrice; readonly sale: TokenPrice }) {
  const { inputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  const promptTokens = inputTokens + cacheReadTokens + cacheWriteTokens;
  const rates = ratesOf(cost, promptTokens);
  if (discountsCache(rates) || rates.cacheRead <= ratesOf(sale, promptTokens).cacheRead) return usage;
  return { ...usage, inputTokens: inputTokens + cacheReadTokens, cacheReadTokens: 0 };
}

/** The maximum cost of any usage within the bound, in nano-USD: every token counts in its most expensive possible bucket. */
export function boundOf(price: TokenPrice, bound: UsageBound): Nano {
  let prompt = dearestPrompt(price);
  let { output } = price;
  for (const step of price.steps) {
    if (bound.inputTokensMax <= step.promptTokens) continue;
    prompt = dearer(prompt, dearestPrompt(step));
    output = dearer(output, step.output);
  }
  return costOf([bound.inputTokensMax, bound.outputTokensMax, THOUSAND], [prompt, output, price.thousandth]);
}

function dearestPrompt({ input, cacheRead, cacheWrite }: TokenRates): PicoPerToken {
  return dearer(input, dearer(cacheRead, cacheWrite));
}

function dearer(a: PicoPerToken, b: PicoPerToken): PicoPerToken {
  return a > b ? a : b;
}

/** Throws RangeError if the text is not a price in USD per million tokens; files are validated earlier, so that would be our bug. */
function picoOf(text: string): PicoPerToken {
  const pico = parseUsdPerMillion(text);
  if (pico === null) throw new RangeError(`not a price in USD per million tokens: ${text}`);
  return pico;
}

function compileRates(
  spec: Omit<TokenPriceSpec, "since" | "taken" | "steps" | "hours" | "thousandCalls">,
  thousandCalls = "0",
): TokenRates {
  return {
    thousandth: picoOf(thousandCalls),
    input: picoOf(spec.input),
    output: picoOf(spec.output),
    cacheRead: picoOf(spec.cacheRead ?? spec.input),
    cacheWrite: picoOf(spec.cacheWrite ?? spec.input),
  };
}

/** A posting's record of a price: whose it is, its start date, and when a price list supplied it, if one did. */
export function versionOf(name: string, { since, taken }: { readonly since: string; readonly taken?: string }): string {
  return `${name}@${since}${taken === undefined ? "" : `.${taken}`}`;
}

/** The same price version under another name. */
export function renamedVersion(version: string, name: string): string {
  return name + version.slice(version.lastIndexOf("@"));
}

const TAKEN = /\.(\d{8}T\d{6})(?=$|\+)/;

/** The newest time at which a list supplied one of the prices; empty if none did. */
export function newestTaken(versions: readonly string[]): { readonly taken?: string } {
  const all = versions.flatMap((version) => TAKEN.exec(version)?.[1] ?? []).toSorted();
  const taken = all.at(-1);
  return taken === undefined ? {} : { taken };
}

/** Compiles a validated price. `name` is the prefix of its version: a slug, or an adapter and its model. */
export function compilePrice(spec: TokenPriceSpec, name: string): TokenPrice {
  const { since, thousandCalls } = spec;
  const version = versionOf(name, spec);
  const steps = (spec.steps ?? []).map(({ promptTokens, ...step }) => {
    return { ...compileRates(step, thousandCalls), promptTokens };
  });
  const hours = (spec.hours ?? []).map(({ from, until, weekdaysOnly = false, ...at }): PriceHours => {
    const own = { steps: [], hours: [], since, version: `${version}:${from}-${until}` };
    const price = { ...compileRates(at, thousandCalls), ...own };
    return { fromMinute: minuteOf(from), untilMinute: minuteOf(until), weekdaysOnly, price };
  });
  return { ...compileRates(spec, thousandCalls), steps, hours, since, version };
}

function minuteOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
}

export const FREE_PRICE: TokenPrice = compilePrice({ since: "2026-01-01", input: "0", output: "0" }, "free");

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1_440;
/** 1970 began on a Thursday, four days after Sunday. */
const FIRST_WEEKDAY = 4;

/** The price at a time, in milliseconds since 1970, which applies to calls admitted then. */
export function priceAt(price: TokenPrice, epochMs: number): TokenPrice {
  if (price.hours.length === 0) return price;
  const minutes = Math.floor(epochMs / MINUTE_MS);
  const minute = minutes % DAY_MINUTES;
  const isWeekend = [0, 6].includes((Math.floor(minutes / DAY_MINUTES) + FIRST_WEEKDAY) % 7);
  const within = price.hours.find(
    ({ fromMinute, untilMinute, weekdaysOnly }) =>
      fromMinute <= minute && minute < untilMinute && !(weekdaysOnly && isWeekend),
  );
  return within?.price ?? price;
}

/** The highest price between two times, both in milliseconds since 1970. */
export function dearestWithin(price: TokenPrice, fromMs: number, untilMs: number): TokenPrice {
  if (price.hours.length === 0) return price;
  const dayMs = DAY_MINUTES * MINUTE_MS;
  const moments = [fromMs];
  for (let midnight = Math.floor(fromMs / dayMs) * dayMs; midnight <= untilMs; midnight += dayMs) {
    for (const minute of [0, ...price.hours.flatMap((one) => [one.fromMinute, one.untilMinute])]) {
      const moment = midnight + minute * MINUTE_MS;
      if (moment > fromMs && moment <= untilMs) moments.push(moment);
    }
  }
  const [first = price, ...others] = new Set(moments.map((moment) => priceAt(price, moment)));
  if (others.length === 0) return first;
  const flat = (one: TokenPrice): TokenPrice => ({ ...one, hours: [] });
  return dearest([flat(first), ...others.map(flat)], price.version);
}

function dearestHours(price: TokenPrice): TokenPrice {
  const all = price.hours.map((one) => one.price);
  return all.length === 0 ? price : dearest([{ ...price, hours: [] }, ...all], price.version);
}

/** The price on a day (`YYYY-MM-DD`): the last that has started; null before the first. */
export function priceOn<Price extends { readonly since: string }>(day: string, prices: readonly Price[]): Price | null {
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

/** Changes all rates of a price by a percentage, rounded up; `sign` is appended to its version. */
function changedBy(price: TokenPrice, percent: number, sign: string): TokenPrice {
  const change = (rate: PicoPerToken) => markUp(rate, percent);
  return {
    ...mapRates(price, change),
    steps: price.steps.map((step) => ({ ...mapRates(step, change), promptTokens: step.promptTokens })),
    hours: price.hours.map((one) => ({ ...one, price: changedBy(one.price, percent, sign) })),
    since: price.since,
    version: price.version + sign,
  };
}

/** Raises all rates by a percentage, for our markup or a region's surcharge; the version records it. */
export function costlierBy(price: TokenPrice, percent: number): TokenPrice {
  return percent === 0 ? price : changedBy(price, percent, `+${percent}%`);
}

/** A percentage of a price: the fee for a call with the caller's own key. */
export function feeOf(price: TokenPrice, percent: number): TokenPrice {
  return changedBy(price, percent - 100, `*${percent}%`);
}

/** The prompt lengths above which one of the prices changes. */
function lengthsOf(prices: readonly TokenPrice[]): readonly number[] {
  const lengths = new Set(prices.flatMap((price) => price.steps.map((step) => step.promptTokens)));
  return [...lengths].sort((a, b) => a - b);
}

/**
 * The highest of several prices in every bucket, prompt length and hour: sold at it, no candidate makes a loss. With `asList`, the price
 * of cached tokens is the highest among the vendors that have one (see `soldUsage`).
 */
export function dearest(all: readonly [TokenPrice, ...TokenPrice[]], name: string, asList = false): TokenPrice {
  const prices = all.map(dearestHours);
  const above = (promptTokens: number): TokenRates => {
    const rates = prices.map((price) => ratesOf(price, promptTokens + 1));
    const most = (bucket: keyof TokenRates, some = rates) => some.map((one) => one[bucket]).reduce(dearer);
    const discounted = asList ? rates.filter(discountsCache) : [];
    return {
      input: most("input"),
      output: most("output"),
      cacheRead: most("cacheRead", discounted.length > 0 ? discounted : rates),
      cacheWrite: most("cacheWrite"),
      thousandth: most("thousandth"),
    };
  };
  const steps = lengthsOf(prices).map((promptTokens): PriceStep => ({ ...above(promptTokens), promptTokens }));
  const since = prices.map((price) => price.since).reduce((a, b) => (a > b ? a : b));
  const taken = newestTaken(all.map((price) => price.version));
  return { ...above(0), steps, hours: [], since, version: versionOf(name, { since, ...taken }) };
}

/** A Thursday and a Saturday, in days since 1970. */
const KINDS_OF_DAYS = [0, 2];

/** Every time of a working day and of a weekend day at which one of the prices can change. */
function hourChanges(prices: readonly TokenPrice[]): readonly number[] {
  const changes = prices.flatMap(({ hours }) => hours.flatMap((one) => [one.fromMinute, one.untilMinute]));
  const minutes = [...new Set([0, ...changes])].filter((minute) => minute < DAY_MINUTES);
  return KINDS_OF_DAYS.flatMap((day) => minutes.map((minute) => (day * DAY_MINUTES + minute) * MINUTE_MS));
}

/** Whether some usage costs more at `cost` than at `sale`, at some hour. */
export function isDearer(cost: TokenPrice, sale: TokenPrice): boolean {
  if (cost.hours.length + sale.hours.length === 0) return isDearerNow(cost, sale);
  return hourChanges([cost, sale]).some((moment) => isDearerNow(priceAt(cost, moment), priceAt(sale, moment)));
}

function isDearerNow(cost: TokenPrice, sale: TokenPrice): boolean {
  return [0, ...lengthsOf([cost, sale])].some((promptTokens) => {
    const ours = ratesOf(cost, promptTokens + 1);
    const listed = ratesOf(sale, promptTokens + 1);
    const theirs = discountsCache(ours) ? listed : { ...listed, cacheRead: dearer(listed.input, listed.cacheRead) };
    return BUCKETS.some((bucket) => ours[bucket] > theirs[bucket]);
  });
}

/** For sorting offers: three prompt tokens to one answer token, as in a typical call. */
export function blendOf(price: TokenPrice): number {
  return 3 * price.input + price.output;
}
