// A model that is sold by units of its own, as an adapter says it: images, seconds of sound, searches, or tokens of several sorts.
import { z } from "zod";
import { parseUsdPer } from "../core/money.ts";
import { ascending, count, day, modelEnd, price, type Said, slug, taken } from "./said.ts";

const kind = z.enum(["images", "transcription", "speech", "rerank", "moderation", "completion"]);
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
]);
const unitPrice = z
  .string()
  .refine((text) => parseUsdPer(1, text) !== null, "is no decimal in USD with at most nine places");
const listed = z.strictObject({
  /** `YYYY-MM-DD`, UTC. */
  since: day,
  /** As of a price by tokens. */
  taken: taken.optional(),
  /** Each per million tokens. */
  textIn: price.optional(),
  cachedIn: price.optional(),
  imageIn: price.optional(),
  audioIn: price.optional(),
  textOut: price.optional(),
  imageOut: price.optional(),
  audioOut: price.optional(),
  /** Per million characters. */
  characters: price.optional(),
  /** Per hour of sound. */
  hours: unitPrice.optional(),
  /** Per thousand searches. */
  searches: unitPrice.optional(),
  /** Per million pixels begun, of each image. */
  megapixels: unitPrice.optional(),
  /** Per image, by `<size>` or `<size> <quality>`. */
  images: z.record(z.string(), unitPrice).optional(),
});

/** Prices by units as adapters and updates write them, newest last. */
export const unitPrices = z
  .array(listed)
  .min(1, "has no price, and what is not priced is not sold")
  .refine((list) => ascending(list.map((entry) => entry.since)), "must be in order of `since`, newest last");

export const unitModel = z.strictObject({
  kind: kind,
  dialect: dialect,
  /** What we sell it as. Default: as a chat model's. */
  slug: slug.optional(),
  /** Newest last. */
  prices: unitPrices,
  /** When the vendor ends it, once that is known. It stays in its file after that, so that callers are told. */
  retires: modelEnd.optional(),
  /** One of the adapter's `origins`, where its own is not asked. */
  origin: z.string().optional(),
  /** Where it is asked below the origin, where that is not the dialect's own path. */
  path: z.string().startsWith("/").optional(),
  /** Fields added to every request. */
  extraFields: z.record(z.string(), z.unknown()).optional(),
  /** Its names for fields that it has under others. */
  renamed: z.record(z.string(), z.string()).optional(),
  /** Fields that it refuses, and that its answer does not depend on: they are left out. */
  omits: z.array(z.string()).optional(),
  /** Fields of the caller's that it refuses; those who send them are told so. */
  refuses: z.array(z.string()).optional(),
  /** The longest prompt, and the longest answer, in tokens. */
  inputTokensMax: count.optional(),
  outputTokensMax: count.optional(),
  /** The longest text, in characters. */
  charactersMax: count.optional(),
  /** Of images: the most in one request. */
  imagesMax: count.optional(),
  /** Of images: the most tokens that one comes out as, by size and quality; `auto` is the most of all. */
  imageTokens: z.record(z.string(), z.record(z.string(), count)).optional(),
  /** Of images: the most tokens that one counts for which goes in. Without it, it edits none. */
  imageInTokensMax: count.optional(),
  /** Answers in events, where it is asked to. */
  streams: z.boolean().optional(),
  /** Of a transcription: it can translate into English as well. */
  translates: z.boolean().optional(),
  /** Forms of answer that it has, by their names in OpenAI's wire. */
  formats: z.array(z.string()).optional(),
  /** Of sound: the longest that it takes, and the least that it charges for, in seconds. */
  secondsMax: count.optional(),
  secondsMin: count.optional(),
  /** Of sound: the most tokens that a second of it counts for. */
  audioTokensPerSecond: count.optional(),
  /** Of a completion: it fills in the middle. */
  fillsIn: z.boolean().optional(),
});

/** What a model does that is no chat model, and so at which endpoint it is asked. Adapters list embeddings beside chats, by the token. */
export type UnitKind = z.infer<typeof kind> | "embeddings";

/** A format of requests to such a model: the name of a row of src/upstream/unit-dialects. */
export type UnitDialectName = z.infer<typeof dialect> | "openai-embeddings";

/** A price by units from a day on, as decimal strings of USD. What has no price here is not sold; a price of nothing at all is free. */
export type UnitPriceSpec = Said<z.infer<typeof listed>>;

/** A model that is sold by units of its own: images, seconds, searches, or tokens of several sorts. Bounds are what its holds are made of. */
export type UnitModelSpec = Said<z.infer<typeof unitModel>>;

/** What calls read of it: its price is compiled by then. */
export type UnitSpec = Omit<UnitModelSpec, "prices" | "kind" | "dialect"> & {
  readonly kind: UnitKind;
  readonly dialect: UnitDialectName;
};
