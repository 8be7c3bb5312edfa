// What images, seconds, searches and tokens of several sorts cost: a vendor's list compiled to integers, and the cost of counts.
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

/** What each listed price counts, and for how many of it the list gives the price. */
const UNITS: Readonly<Record<Listed, { readonly unit: string; readonly per: number }>> = {
  textIn: { unit: "textIn", per: 1_000_000 },
  cachedIn: { unit: "cachedIn", per: 1_000_000 },
  imageIn: { unit: "imageIn", per: 1_000_000 },
  audioIn: { unit: "audioIn", per: 1_000_000 },
  textOut: { unit: "textOut", per: 1_000_000 },
  imageOut: { unit: "imageOut", per: 1_000_000 },
  audioOut: { unit: "audioOut", per: 1_000_000 },
  characters: { unit: "characters", per: 1_000_000 },
  hours: { unit: "seconds", per: 3_600 },
  searches: { unit: "searches", per: 1_000 },
  megapixels: { unit: "megapixels", per: 1 },
  images: { unit: "image", per: 1 },
};

/** The price of one unit in pico-USD, rounded up; null where the text is no price. */
export function parseUnitPrice(listed: Listed, text: string): PicoPerToken | null {
  const { per } = UNITS[listed];
  return per === 1_000_000 ? parseUsdPerMillion(text) : parseUsdPer(per, text);
}

/** Throws RangeError on what is no price; files are checked before, so that would be our bug. */
function picoOf(listed: Listed, text: string): PicoPerToken {
  const pico = parseUnitPrice(listed, text);
  if (pico === null) throw new RangeError(`not a price: ${text}`);
  return pico;
}

/** The unit of one image of a size and a quality, as a price lists it: the nearest word that it has; null: it lists none that fits. */
export function imageUnit({ rates }: UnitPrice, size: string, quality: string): string | null {
  return [`image ${size} ${quality}`, `image ${size}`].find((unit) => rates.has(unit)) ?? null;
}

/** Compiles a price that has passed validation. `name` begins its version. */
export function compileUnitPrice({ since, taken, images = {}, ...listed }: UnitPriceSpec, name: string): UnitPrice {
  const plain = Object.entries(listed).map(([key, text]) => {
    return [UNITS[key as Listed].unit, picoOf(key as Listed, text)] as const;
  });
  const sized = Object.entries(images).map(([size, text]) => [`image ${size}`, picoOf("images", text)] as const);
  const rates = new Map([...plain, ...sized]);
  const { textIn } = listed;
  // As of a chat's price: what a cache gives costs what is read, unless it has a price of its own.
  if (textIn !== undefined && !rates.has("cachedIn")) rates.set("cachedIn", picoOf("textIn", textIn));
  return { rates, since, version: versionOf(name, taken === undefined ? { since } : { since, taken }) };
}

/** A price by the token as one by units; what a long prompt or a call costs beside its tokens has none, and no embeddings have it. */
export function unitsOfTokens({ input, cacheRead, output, since, version }: TokenPrice): UnitPrice {
  const rates = [
    ["textIn", input],
    ["cachedIn", cacheRead],
    ["textOut", output],
  ] as const;
  return { rates: new Map(rates), since, version };
}

/** Whether everything that was counted has a price. */
export function pricesAll({ rates }: UnitPrice, counts: Counts): boolean {
  return Object.entries(counts).every(([unit, count]) => count === 0 || rates.size === 0 || rates.has(unit));
}

/** What the counts cost in nano-USD, rounded up once. Of a unit without a price, the dearest token's: nothing is given away for a new name. */
export function costOfCounts({ rates }: UnitPrice, counts: Counts): Nano {
  const dearestRate = Math.max(0, ...rates.values()) as PicoPerToken;
  const prices = Object.keys(counts).map((unit) => rates.get(unit) ?? dearestRate);
  return costOf(Object.values(counts), prices);
}

/** A cost price with our markup on every unit; its version says so. */
export function sellUnitsAt(cost: UnitPrice, percent: number): UnitPrice {
  if (percent === 0) return cost;
  const rates = [...cost.rates].map(([unit, price]) => [unit, markUp(price, percent)] as const);
  return { ...cost, rates: new Map(rates), version: `${cost.version}+${percent}%` };
}

/** The dearest of several prices in every unit: selling at it, no candidate makes a loss. */
export function dearestUnits(prices: readonly [UnitPrice, ...UnitPrice[]], name: string): UnitPrice {
  const rates = new Map<string, PicoPerToken>();
  for (const [unit, price] of prices.flatMap((one) => [...one.rates])) {
    rates.set(unit, Math.max(price, rates.get(unit) ?? 0) as PicoPerToken);
  }
  const since = prices.map((price) => price.since).reduce((a, b) => (a > b ? a : b));
  const taken = newestTaken(prices.map((price) => price.version));
  return { rates, since, version: versionOf(name, { since, ...taken }) };
}

/** Whether some unit costs more at `cost` than at `sale`, or is not sold at all. */
export function isDearerUnits(cost: UnitPrice, sale: UnitPrice): boolean {
  return [...cost.rates].some(([unit, price]) => price > (sale.rates.get(unit) ?? -1));
}

/** A price as people read it: USD by unit, each for as many as the list has it for, such as `{"hour": "0.36"}`. */
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
