// A model priced by units, as declared by an adapter: images, seconds of audio, searches, or several types of tokens.
import { z } from "zod";
import { parseUsdPer } from "../core/money.ts";
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
