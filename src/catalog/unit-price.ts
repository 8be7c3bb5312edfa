// Unit prices (images, seconds, searches, tokens by type): compiles a vendor's list to integers, and computes costs.
import {
  costOf,
  markUp,
  type Nano,
  type PicoPerToken,
  parseUsdPer,
  parseUsdPerMillion,
  usdPerText,
} from "../core/money.ts";
import type { Counts } from "../core/route.ts";
import type { TokenPrice, UnitPrice } from "./catalog.ts";
import { newestTaken, versionOf } from "./price.ts";
import type { UnitPriceSpec } from "./unit-model.ts";

type Listed = Exclude<keyof UnitPriceSpec, "since" | "taken">;

/** The unit of each listed price, and how many units the listed price covers. */
const UNITS: Readonly<Record<Listed, { readonly unit: string; readonly per: number }>> = {
  textIn: { unit: "textIn", per: 1_000_000 },
  cachedIn: { unit: "cachedIn", per: 1_000_000 },
  imageIn: { unit: "imageIn", per: 1_000_000 },
  cachedImageIn: { unit: "cachedImageIn", per: 1_000_000 },
  audioIn: { unit: "audioIn", per: 1_000_000 },
  cachedAudioIn: { unit: "cachedAudioIn", per: 1_000_000 },
  textOut: { unit: "textOut", per: 1_000_000 },
  imageOut: { unit: "imageOut", per: 1_000_000 },
  audioOut: { unit: "audioOut", per: 1_000_000 },
  characters: { unit: "characters", per: 1_000_000 },
  hours: { unit: "seconds", per: 3_600 },
  searches: { unit: "searches", per: 1_000 },
  megapixels: { unit: "megapixels", per: 1 },
  images: { unit: "image", per: 1 },
};

/** The price of one unit in pico-USD, rounded up; null if the text is not a price. */
export function parseUnitPrice(listed: Listed, text: string): PicoPerToken | null {
  const { per } = UNITS[listed];
  return per === 1_000_000 ? parseUsdPerMillion(text) : parseUsdPer(per, text);
}

/** Throws RangeError if the text is not a price; files are validated earlier, so that would be our bug. */
function picoOf(listed: Listed, text: string): PicoPerToken {
  const pico = parseUnitPrice(listed, text);
  if (pico === null) throw new RangeError(`not a price: ${text}`);
  return pico;
}

/** The unit of an image by size and quality, as named in a price: the closest match; null if none fits. */
export function imageUnit({ rates }: UnitPrice, size: string, quality: string): string | null {
  return [`image ${size} ${quality}`, `image ${size}`].find((unit) => rates.has(unit)) ?? null;
}

export function compileUnitPrice({ since, taken, images = {}, ...listed }: UnitPriceSpec, name: string): UnitPrice {
  const plain = Object.entries(listed).map(([key, text]) => {
    return [UNITS[key as Listed].unit, picoOf(key as Listed, text)] as const;
  });
  const sized = Object.entries(images).map(([size, text]) => [`image ${size}`, picoOf("images", text)] as const);
  const rates = new Map([...plain, ...sized]);
  // As in a chat price: cached tokens cost as much as input unless they have their own price.
  const { textIn } = listed;
  if (textIn !== undefined && !rates.has("cachedIn")) rates.set("cachedIn", picoOf("textIn", textIn));
  return { rates, since, version: versionOf(name, taken === undefined ? { since } : { since, taken }) };
}

/** Converts a token price to a unit price, without long-prompt and per-call prices, which no embeddings have. */
export function unitsOfTokens({ input, cacheRead, output, since, version }: TokenPrice): UnitPrice {
  const rates = [
    ["textIn", input],
    ["cachedIn", cacheRead],
    ["textOut", output],
  ] as const;
  return { rates: new Map(rates), since, version };
}

export function pricesAll({ rates }: UnitPrice, counts: Counts): boolean {
  return Object.entries(counts).every(([unit, count]) => count === 0 || rates.size === 0 || rates.has(unit));
}

/** The cost in nano-USD, rounded up once. A unit without a price costs as much as the dearest token, so that none is free. */
export function costOfCounts({ rates }: UnitPrice, counts: Counts): Nano {
  const dearestRate = Math.max(0, ...rates.values()) as PicoPerToken;
  const prices = Object.keys(counts).map((unit) => rates.get(unit) ?? dearestRate);
  return costOf(Object.values(counts), prices);
}

/** The cost price with our markup on every unit, recorded in its version. */
export function sellUnitsAt(cost: UnitPrice, percent: number): UnitPrice {
  if (percent === 0) return cost;
  const rates = [...cost.rates].map(([unit, price]) => [unit, markUp(price, percent)] as const);
  return { ...cost, rates: new Map(rates), version: `${cost.version}+${percent}%` };
}

/** The highest of several prices in every unit: sold at it, no candidate makes a loss. */
export function dearestUnits(prices: readonly [UnitPrice, ...UnitPrice[]], name: string): UnitPrice {
  const rates = new Map<string, PicoPerToken>();
  for (const [unit, price] of prices.flatMap((one) => [...one.rates]))
    rates.set(unit, Math.max(price, rates.get(unit) ?? 0) as PicoPerToken);
  const since = prices.map((price) => price.since).reduce((a, b) => (a > b ? a : b));
  const taken = newestTaken(prices.map((price) => price.version));
  return { rates, since, version: versionOf(name, { since, ...taken }) };
}

/** Whether some unit costs more at `cost` than at `sale`, or has no sale price. */
export function isDearerUnits(cost: UnitPrice, sale: UnitPrice): boolean {
  return [...cost.rates].some(([unit, price]) => price > (sale.rates.get(unit) ?? -1));
}

/** A price for display: USD by unit, in the quantities of the list, such as `{"hour": "0.36"}`. */
export function unitPriceText({ rates }: UnitPrice): Readonly<Record<string, string>> {
  const names: Readonly<Record<string, readonly [name: string, per: number]>> = {
    seconds: ["hour", 3_600],
    searches: ["thousand_searches", 1_000],
    characters: ["million_characters", 1_000_000],
    megapixels: ["megapixel", 1],
  };
  const rows = [...rates].map(([unit, price]) => {
    const isImage = unit.startsWith("image ");
    const snake = unit.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const [name, per] = names[unit] ?? (isImage ? [unit, 1] : [`million_${snake}_tokens`, 1_000_000]);
    return [name.replaceAll(" ", "_"), usdPerText(per, price)] as const;
  });
  return Object.fromEntries(rows);
}
