// Chat and embedding models as declared by an adapter: limits, prices and wire format.
import { z } from "zod";
import { dialect, wireFields } from "./chat-wire.ts";
import { count, modelEnd, type Said, slug } from "./said.ts";
import { plainTokenPrices, tokenPrices } from "./token-price.ts";

const pointer = z.string().regex(/^(\/[^/]+)+$/, "is not a JSON pointer");
const pointers = z.array(pointer).min(1);
const tokenizer = z.enum(["o200k", "unknown"]);
const parts = z.strictObject({
  imageTokensMax: count.optional(),
  audioTokensMax: count.optional(),
  fileTokensMax: count.optional(),
  /** The maximum number of tokens that the model reads on its own per call and charges as prompt, such as search results. */
  foundTokensMax: count.optional(),
});
const bounds = {
  contextTokens: count,
  /** Oldest first; the last one whose `since` is not after today is in effect. */
  prices: tokenPrices,
  parts: parts.optional(),
  /** Default `unknown`. */
  tokenizer: tokenizer.optional(),
  ...wireFields,
};
const names = {
  /** The slug that we sell it under, `<maker>/<model>`. Default: `<maker>/<vendor's id>`, or just the vendor's id if there is no maker. */
  slug: slug.optional(),
  /** Why its price differs from the list that `tollgate prices check` reads. */
  priceNote: z.string().min(1).optional(),
  /** When the vendor ends it, once known. The entry stays in the file afterwards, so that callers get a helpful error. */
  retires: modelEnd.optional(),
};
const chatBounds = { ...bounds, outputTokensMax: count.optional() };
const model = z.strictObject({ ...names, ...chatBounds });
/** For a model that the operator names and may price. */
const unpriced = z.union([z.tuple([]), tokenPrices]);

export const chat = z.strictObject({
  ...wireFields,
  dialect,
  /** How to get usage in a stream. `always`: the vendor sends it unasked and rejects the option. Default `ask`. */
  streamUsage: z.enum(["ask", "always"]).optional(),
  /** Added to `stream_options` in streamed requests. */
  streamOptions: z.record(z.string(), z.unknown()).optional(),
  /** JSON pointers to the usage object in an answer or chunk; the last non-null one counts. Default `/usage`. */
  usageAt: pointers.optional(),
  /** JSON pointers, within the usage object, to the number of prompt tokens read from a cache. */
  cacheReadAt: pointers.optional(),
  /** The `format` of signed reasoning: sent only to vendors with the same, as no others can read it. Default: the dialect's name. */
  reasoningFormat: z.string().optional(),
  /** `completion_tokens` does not include the reasoning tokens. */
  reasoningOutside: z.boolean().optional(),
  /** A JSON pointer, within the usage object, to the vendor's own cost in USD. */
  costUsdAt: pointer.optional(),
  /** The path, below the origin, where a server lists its models in OpenAI's format: used by a check while none of its models is known. */
  modelsPath: z.string().startsWith("/").optional(),
  models: z.record(z.string(), model),
  /**
   * Serves any model as `<adapter id>/<model>` (local servers) at this price, unless `<ID>_PROMPT_USD_PER_MILLION` and
   * `<ID>_COMPLETION_USD_PER_MILLION` set another. In a tier, `<adapter id>/*` is the model that `<ID>_MODEL` names. Without a price
   * (`prices: []`), only that model is served, and only while the environment sets both prices.
   */
  anyModel: z.strictObject({ ...chatBounds, prices: unpriced }).optional(),
});

export const embeddings = z.strictObject({
  /** Maps the vendor's id to the price; only `input` is charged. */
  models: z.record(z.string(), z.strictObject({ ...names, ...bounds, prices: plainTokenPrices })),
  anyModel: z.strictObject({ ...bounds, prices: plainTokenPrices }).optional(),
});

/** Prompt parts other than text, with the maximum token count of one such part. */
export type PartBounds = Said<z.infer<typeof parts>>;

/** `o200k`: OpenAI's, for gpt-4o and later and gpt-oss. `unknown`: tokens are bounded by bytes unless another is known to be close. */
export type Tokenizer = z.infer<typeof tokenizer>;

export type ModelSpec = Said<z.infer<typeof model>>;
export type ChatSpec = Said<z.infer<typeof chat>>;
/** OpenAI's wire at `/embeddings`. */
export type EmbeddingsSpec = Said<z.infer<typeof embeddings>>;
