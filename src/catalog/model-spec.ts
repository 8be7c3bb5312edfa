// Chat and embedding models, as an adapter says them: their bounds, their prices and their wire.
import { z } from "zod";
import { dialect, wireFields } from "./chat-wire.ts";
import { count, modelEnd, type Said, slug } from "./said.ts";
import { plainTokenPrices, tokenPrices } from "./token-price.ts";

const pointer = z.string().regex(/^(\/[^/]+)+$/, "is no JSON pointer");
const pointers = z.array(pointer).min(1);
const tokenizer = z.enum(["o200k", "unknown"]);
const parts = z.strictObject({
  imageTokensMax: count.optional(),
  audioTokensMax: count.optional(),
  fileTokensMax: count.optional(),
  /** What the model reads of its own accord and charges as prompt, such as pages that it finds: the most tokens of each call. */
  foundTokensMax: count.optional(),
});
const bounds = {
  contextTokens: count,
  /** Newest last; the one in force is the last whose `since` is not after today. */
  prices: tokenPrices,
  parts: parts.optional(),
  /** Default `unknown`. */
  tokenizer: tokenizer.optional(),
  ...wireFields,
};
const names = {
  /** What we sell it as, `<maker>/<model>`. Default: `<maker>/<vendor's id>`, or without a maker the vendor's id. */
  slug: slug.optional(),
  /** Why its price is another than the one in the list that `tollgate prices check` reads. */
  priceNote: z.string().min(1).optional(),
  /** When the vendor ends it, once that is known. It stays in its file after that, so that callers are told. */
  retires: modelEnd.optional(),
};
const chatBounds = { ...bounds, outputTokensMax: count.optional() };
const model = z.strictObject({ ...names, ...chatBounds });
/** Of a model that the operator names, who may set its price as well. */
const unpriced = z.union([z.tuple([]), tokenPrices]);

export const chat = z.strictObject({
  ...wireFields,
  dialect,
  /** How the vendor is asked for usage in a stream. `always`: it comes unasked, and asking is an error. Default `ask`. */
  streamUsage: z.enum(["ask", "always"]).optional(),
  /** Fields added to `stream_options` of streamed requests. */
  streamOptions: z.record(z.string(), z.unknown()).optional(),
  /** JSON pointers to a usage object in an answer or a chunk; the last one that is not null counts. Default `/usage`. */
  usageAt: pointers.optional(),
  /** JSON pointers, inside the usage object, to the count of prompt tokens that were read from a cache. */
  cacheReadAt: pointers.optional(),
  /**
   * The `format` of signed reasoning in `reasoning_details`: it goes back only to a vendor of the same format, because
   * no other can read it. Default: the dialect's name.
   */
  reasoningFormat: z.string().optional(),
  /** Reasoning tokens come beside `completion_tokens`, not within it. */
  reasoningOutside: z.boolean().optional(),
  /** A JSON pointer, inside the usage object, to the vendor's own cost in USD. */
  costUsdAt: pointer.optional(),
  /** Where a server lists its models in OpenAI's shape, below the origin: asked by a check while no model of it is known. */
  modelsPath: z.string().startsWith("/").optional(),
  models: z.record(z.string(), model),
  /**
   * Serves any model as `<adapter id>/<model>` (local servers), at this price unless `<ID>_PROMPT_USD_PER_MILLION` and
   * `<ID>_COMPLETION_USD_PER_MILLION` set another. `<adapter id>/*` in a tier is the model that `<ID>_MODEL` names.
   * Without a price (`prices: []`) that model alone is served, and only while the environment sets both prices.
   */
  anyModel: z.strictObject({ ...chatBounds, prices: unpriced }).optional(),
});

export const embeddings = z.strictObject({
  /** Vendor's id -> price; only `input` is charged. */
  models: z.record(z.string(), z.strictObject({ ...names, ...bounds, prices: plainTokenPrices })),
  anyModel: z.strictObject({ ...bounds, prices: plainTokenPrices }).optional(),
});

/** What can be put into a prompt beside text, with the most tokens one such part can count for. */
export type PartBounds = Said<z.infer<typeof parts>>;

/**
 * A tokenizer that we have. `o200k`: OpenAI's, of gpt-4o and all later ones, and of gpt-oss. `unknown`: what a text can
 * count for is bounded by its bytes where no other tokenizer can be trusted to be near.
 */
export type Tokenizer = z.infer<typeof tokenizer>;

export type ModelSpec = Said<z.infer<typeof model>>;
export type ChatSpec = Said<z.infer<typeof chat>>;
/** OpenAI's wire at `/embeddings`. */
export type EmbeddingsSpec = Said<z.infer<typeof embeddings>>;
