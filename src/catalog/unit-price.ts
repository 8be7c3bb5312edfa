// Models priced by units (images, seconds, searches, tokens by type): their schema, a vendor's list compiled to integers, and costs.

import { z } from "zod";
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
import { ascending, count, day, modelEnd, price, type Said, slug, taken } from "./said.ts";

const kind = z.enum(["images", "transcription", "speech", "rerank", "moderation", "completion", "realtime"]);
const dialect = z.enum([
  "openai-images",
  "gemini-images",
  "fal-images",
  "openai-audio",
  "openai-voice",
  "cohere-rerank",
  "data-rerank",
  "openai-moderation",
  "openai-completion",
  "openai-realtime",
]);
const unitPrice = z
  .string()
  .refine((text) => parseUsdPer(1, text) !== null, "is not a decimal in USD with at most nine places");
const listed = z.strictObject({
  /** `YYYY-MM-DD`, UTC. */
  since: day,
  /** As in a token price. */
  taken: taken.optional(),
  /** Each per million tokens. */
  textIn: price.optional(),
  cachedIn: price.optional(),
  imageIn: price.optional(),
  cachedImageIn: price.optional(),
  audioIn: price.optional(),
  cachedAudioIn: price.optional(),
  textOut: price.optional(),
  imageOut: price.optional(),
  audioOut: price.optional(),
  /** Per million characters. */
  characters: price.optional(),
  /** Per hour of audio. */
  hours: unitPrice.optional(),
  /** Per thousand searches. */
  searches: unitPrice.optional(),
  /** Per started million pixels, for each image. */
  megapixels: unitPrice.optional(),
  /** Per image, by `<size>` or `<size> <quality>`. */
  images: z.record(z.string(), unitPrice).optional(),
});

/** Unit prices as adapters and updates write them, oldest first. */
export const unitPrices = z
  .array(listed)
  .min(1, "has no price, and what is not priced is not sold")
  .refine((list) => ascending(list.map((entry) => entry.since)), "must be in order of `since`, newest last");

export const unitModel = z.strictObject({
  kind: kind,
  dialect: dialect,
  /** The slug that we sell it under. Default: as for a chat model. */
  slug: slug.optional(),
  /** Oldest first. */
  prices: unitPrices,
  /** When the vendor ends it, once known. The entry stays in the file afterwards, so that callers get a helpful error. */
  retires: modelEnd.optional(),
  /** One of the adapter's `origins`, if not the main one. */
  origin: z.string().optional(),
  /** The path below the origin, if not the dialect's own. */
  path: z.string().startsWith("/").optional(),
  extraFields: z.record(z.string(), z.unknown()).optional(),
  renamed: z.record(z.string(), z.string()).optional(),
  /** Fields that it rejects but that do not affect its answer: they are dropped. */
  omits: z.array(z.string()).optional(),
  /** Caller fields that it rejects; requests with them are refused. */
  refuses: z.array(z.string()).optional(),
  /** The maximum prompt and the maximum answer, in tokens. */
  inputTokensMax: count.optional(),
  outputTokensMax: count.optional(),
  charactersMax: count.optional(),
  /** For images: the maximum number per request. */
  imagesMax: count.optional(),
  /** For images: the maximum token count of an output image, by size and quality; `auto` is the overall maximum. */
  imageTokens: z.record(z.string(), z.record(z.string(), count)).optional(),
  /** For images: the maximum token count of an input image. Absent: the model cannot edit images. */
  imageInTokensMax: count.optional(),
  streams: z.boolean().optional(),
  /** For transcription: it can also translate to English. */
  translates: z.boolean().optional(),
  /** The response formats it supports, by their names in OpenAI's API. */
  formats: z.array(z.string()).optional(),
  /** For audio: the maximum length and the minimum charge, in seconds. */
  secondsMax: count.optional(),
  secondsMin: count.optional(),
  /** For audio: the maximum tokens per second. */
  audioTokensPerSecond: count.optional(),
  /** For completion: it supports fill-in-the-middle. */
  fillsIn: z.boolean().optional(),
});

/** What a model other than a chat model does, which determines its endpoint. Adapters list embeddings beside chat models, by tokens. */
export type UnitKind = z.infer<typeof kind> | "embeddings";

/** The request format of such a model: the name of a row in src/upstream/unit-dialects. */
export type UnitDialectName = z.infer<typeof dialect> | "openai-embeddings";

/** A unit price with a start date, as decimal strings of USD. A unit without a price is not sold; a price without any units is free. */
export type UnitPriceSpec = Said<z.infer<typeof listed>>;

/** A model priced by units: images, seconds, searches, or several types of tokens. Holds are computed from its limits. */
export type UnitModelSpec = Said<z.infer<typeof unitModel>>;

/** The part that calls read: its price has been compiled by then. */
export type UnitSpec = Omit<UnitModelSpec, "prices" | "kind" | "dialect"> & {
  readonly kind: UnitKind;
  readonly dialect: UnitDialectName;
};

type Listed = Exclude<keyof UnitPriceSpec, "since" | "taken">;

const MILLION = 1_000_000;
/** The unit of a listed price, and how many units it covers, where that is not a million of the unit that it is named after. */
const UNITS: Partial<Readonly<Record<Listed, readonly [unit: string, per: number]>>> = {
  hours: ["seconds", 3_600],
  searches: ["searches", 1_000],
  megapixels: ["megapixels", 1],
  images: ["image", 1],
};

/** The price of one unit in pico-USD, rounded up; null if the text is not a price. */
export function parseUnitPrice(listed: Listed, text: string): PicoPerToken | null {
  const [, per = MILLION] = UNITS[listed] ?? [];
  return per === MILLION ? parseUsdPerMillion(text) : parseUsdPer(per, text);
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
    return [UNITS[key as Listed]?.[0] ?? key, picoOf(key as Listed, text)] as const;
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
