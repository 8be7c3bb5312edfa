// The one shape that every list of models is read into, in whichever format it came.

import type { TokenPriceSpec } from "../token-price.ts";
import type { UnitPriceSpec } from "../unit-model.ts";

/** The list cannot be believed: nothing of it is taken. Its message is one line for the operator. */
export class BadList extends Error {}

/** Prices by units as an adapter would write them; of a list only those that it has. */
export type ListedUnits = Partial<Record<Exclude<keyof UnitPriceSpec, "since" | "taken" | "images">, string>>;

/** What a list says of one model. What it does not say is null, and stays as it is. */
export interface ListedFacts {
  /** By the token, oldest first: the last that has begun holds, later ones are announced. `since` is "" where the list has no day. Empty: none. */
  readonly prices: readonly TokenPriceSpec[];
  readonly units: ListedUnits;
  readonly contextTokens: number | null;
  readonly outputTokensMax: number | null;
  readonly takesImages: boolean | null;
  /** The first day on which the vendor does not serve it. */
  readonly ends: string | null;
  /** It says that the model is no more. */
  readonly ended: boolean;
}

/** What a list says of one vendor's models. */
export interface VendorList {
  /** The vendor's own names of models that the list has. */
  readonly names: readonly string[];
  find(name: string): ListedFacts | null;
}

/** How a list may call a vendor. */
export interface ListedVendor {
  readonly id: string;
  readonly pricedAs: string | null;
  readonly alsoCalled: readonly string[];
}

export interface ModelList {
  /** The format that it was read as, for people. */
  readonly format: string;
  /** Null: it does not know the vendor. */
  of(vendor: ListedVendor): VendorList | null;
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

/** A number of USD for so many units as an adapter writes it: at most six places, no exponent. What is no price stays one that no check lets pass. */
export function usdText(value: unknown, units = 1): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  const number = typeof value === "string" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number)) return "no number";
  return String(Number((number * units).toFixed(6)));
}

/** A count of tokens; null where it is none. */
export function countOf(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : null;
}

const DAY = /^\d{4}-\d{2}-\d{2}/;

/** `YYYY-MM-DD` of a day or a time; null where it is none. */
export function dayOf(value: unknown): string | null {
  if (typeof value === "number" && value > 0) return new Date(value * 1000).toISOString().slice(0, 10);
  return typeof value === "string" && DAY.test(value) && !Number.isNaN(Date.parse(value)) ? value.slice(0, 10) : null;
}

/** What a vendor may be called, in small letters and without signs: `fireworks_ai` is `fireworksai`. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}

/** Whether a list's word for a vendor means this one. Many lists put `ai` behind a name. */
export function isCalled({ id, pricedAs, alsoCalled }: ListedVendor, word: string): boolean {
  const plain = plainName(word);
  return [id, pricedAs ?? id, ...alsoCalled].map(plainName).some((name) => name === plain || `${name}ai` === plain);
}

/** The prices of one day, without buckets that the list does not have. */
export function pricesOf(rates: {
  readonly input: string | undefined;
  readonly output: string | undefined;
  readonly cacheRead: string | undefined;
  readonly cacheWrite: string | undefined;
  readonly steps?: TokenPriceSpec["steps"];
}): readonly TokenPriceSpec[] {
  const { input, output, cacheRead, cacheWrite, steps = [] } = rates;
  if (input === undefined) return [];
  return [
    {
      since: "",
      input,
      output: output ?? "0",
      ...(cacheRead === undefined ? {} : { cacheRead }),
      ...(cacheWrite === undefined ? {} : { cacheWrite }),
      ...(steps.length === 0 ? {} : { steps }),
    },
  ];
}
