// The common form of all model lists, whatever their format.

import { day } from "../said.ts";
import type { TokenPriceSpec } from "../token-price.ts";
import type { UnitPriceSpec } from "../unit-price.ts";

/** The list is not credible: nothing in it is used. The message is one line for the operator. */
export class BadList extends Error {}

/** Unit prices as an adapter would write them; only those that the list has. */
export type ListedUnits = Partial<Record<Exclude<keyof UnitPriceSpec, "since" | "taken" | "images">, string>>;

/** A list's facts about one model. A fact that it lacks is null and stays unchanged here. */
export interface ListedFacts {
  /** Token prices, oldest first: the last that has begun applies, later ones are announced. `since` is "" without a date. May be empty. */
  readonly prices: readonly TokenPriceSpec[];
  readonly units: ListedUnits;
  readonly contextTokens: number | null;
  readonly outputTokensMax: number | null;
  readonly takesImages: boolean | null;
  /** The first day on which the vendor no longer serves it. */
  readonly ends: string | null;
  /** The list says that the model was discontinued. */
  readonly ended: boolean;
}

/** A list's facts about one vendor's models. */
export interface VendorList {
  /** The vendor's own names of the models in the list. */
  readonly names: readonly string[];
  find(name: string): ListedFacts | null;
}

export interface ListedVendor {
  readonly id: string;
  readonly pricedAs: string | null;
  readonly alsoCalled: readonly string[];
}

export interface ModelList {
  readonly format: string;
  /** Null if the list does not have the vendor. */
  of(vendor: ListedVendor): VendorList | null;
}

/** A vendor's rows by the vendor's own names; `factsOf` reads one. */
export function listedRows<Row>(rows: ReadonlyMap<string, Row>, factsOf: (row: Row) => ListedFacts): VendorList {
  const find = (name: string) => {
    const row = rows.get(name);
    return row === undefined ? null : factsOf(row);
  };
  return { names: [...rows.keys()], find };
}

export const NO_FACTS: ListedFacts = {
  prices: [],
  units: {},
  contextTokens: null,
  outputTokensMax: null,
  takesImages: null,
  ends: null,
  ended: false,
};

/** A USD price for this many units as adapters write it: up to six decimals, no exponent. Checks reject invalid ones later. */
export function usdText(value: unknown, units = 1): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  const number = typeof value === "string" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number)) return "no number";
  return String(Number((number * units).toFixed(6)));
}

/** A number of tokens; null if the value is not one. */
export function countOf(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : null;
}

/** The year 3000, in seconds since 1970. Larger numbers are not in seconds. */
const SECONDS_MAX = 32_503_680_000;

/** `YYYY-MM-DD` of a date or time; null if the value is neither, or the day does not exist. */
export function dayOf(value: unknown): string | null {
  const isTime = typeof value === "number" && value > 0 && value < SECONDS_MAX;
  const text = isTime ? new Date(value * 1000).toISOString() : value;
  if (typeof text !== "string" || Number.isNaN(Date.parse(text))) return null;
  return day.safeParse(text.slice(0, 10)).data ?? null;
}

/** A vendor's name for comparison, in lower case and without punctuation: `fireworks_ai` is `fireworksai`. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}

/** Whether a list's vendor name means this vendor. Many lists append `ai` to a name. */
export function isCalled({ id, pricedAs, alsoCalled }: ListedVendor, word: string): boolean {
  const plain = plainName(word);
  return [id, pricedAs ?? id, ...alsoCalled].map(plainName).some((name) => name === plain || `${name}ai` === plain);
}

export type Rates = Pick<TokenPriceSpec, "input" | "output" | "cacheRead" | "cacheWrite">;
type ListedRates = { readonly [Bucket in keyof Rates]-?: string | undefined };

/** The rates in a row's fields of these names, which are prices for this many units. */
export function ratesIn(
  row: Readonly<Record<string, unknown>>,
  [input, output, cacheRead, cacheWrite]: readonly [string, string, string, string],
  units = 1,
): ListedRates {
  const rate = (name: string) => usdText(row[name], units);
  return { input: rate(input), output: rate(output), cacheRead: rate(cacheRead), cacheWrite: rate(cacheWrite) };
}

/** Rates as adapters write them: a cache rate that the list lacks is left out. */
export function ratesOf({ input = "", output = "", cacheRead, cacheWrite }: ListedRates): Rates {
  const read = cacheRead === undefined ? null : { cacheRead };
  return { input, output, ...read, ...(cacheWrite === undefined ? null : { cacheWrite }) };
}

/** The one price of a list without dates; none if it has no rate for input. */
export function pricesOf(rates: ListedRates, steps: TokenPriceSpec["steps"] = []): readonly TokenPriceSpec[] {
  if (rates.input === undefined) return [];
  const price = { since: "", ...ratesOf({ ...rates, output: rates.output ?? "0" }) };
  return [steps.length === 0 ? price : { ...price, steps }];
}
