// Presents a vendor's own models as actions: the description of each wire, and the maximum price of a call.
import { z } from "zod";
import type { ActionFacts, PriceSpec } from "./action.ts";
import type { JsonObject, ModelEnd } from "./said.ts";
import type { AdapterSpec, NativeWire } from "./spec.ts";

/** The maximum price of a call in cents: for a text answer, and for an image. */
export const NATIVE_CENTS_MAX = 100;
export const IMAGE_CENTS_MAX = 5;

export interface NativeFacts extends ActionFacts {
  readonly example: { readonly params: JsonObject };
}

const model = z.string().min(1).max(200).describe("The vendor's own name of a model, or its slug");
const messages = z.array(z.looseObject({ role: z.string() })).min(1);
const tokens = z
  .int()
  .min(1)
  .describe("The most that the answer may have; lowered to what the most of a call pays for");
const hello = [{ role: "user", content: "Say hello." }];

/** What differs between wires. The vendor's API defines the rest of the body, so the objects are open. */
interface WireFacts {
  readonly of: (vendor: string) => string;
  readonly keywords: string;
  readonly asked: string;
  readonly params: z.ZodType;
  readonly cents: number;
  readonly example: JsonObject;
  /** The vendor's names of its models without a known end, the preferred one first. */
  models(spec: AdapterSpec): readonly string[];
}

function staying(models: Readonly<Record<string, { readonly retires?: ModelEnd }>> = {}): readonly string[] {
  return Object.keys(models).filter((name) => models[name]?.retires === undefined);
}

const chats = {
  asked: "ask a big model once at a fixed price; chat with an AI; write, summarise, translate, explain with a model",
  cents: NATIVE_CENTS_MAX,
  models: (spec: AdapterSpec) => staying(spec.chat?.models),
};

const NATIVE_WIRES: Readonly<Record<NativeWire, WireFacts>> = {
  "chat-completions": {
    ...chats,
    of: (vendor) => `Asks a model of ${vendor} in OpenAI's chat wire, whole, by the token, for a dollar at most.`,
    keywords: "language model; LLM; chat completion; generate text",
    params: z.looseObject({
      model,
      messages: messages.describe("The whole conversation, as OpenAI's chat wire has it"),
      max_tokens: tokens.optional(),
    }),
    example: { messages: hello },
  },
  messages: {
    ...chats,
    of: (vendor) =>
      `Asks a model of ${vendor} in Anthropic's messages wire, whole, by the token, for a dollar at most.`,
    keywords: "language model; LLM; messages; generate text",
    params: z.looseObject({
      model,
      messages: messages.describe("The whole conversation, as Anthropic's messages wire has it"),
      max_tokens: tokens,
    }),
    example: { max_tokens: 200, messages: hello },
  },
  embeddings: {
    of: (vendor) => `Turns texts into vectors by a model of ${vendor}, by the token, for a dollar at most.`,
    keywords: "embedding; vector; semantic similarity",
    asked: "vectors of texts; embed documents; similarity of sentences",
    params: z.looseObject({
      model,
      input: z.union([z.string().min(1), z.array(z.json()).min(1)]).describe("A text, or a list of texts or of tokens"),
    }),
    cents: NATIVE_CENTS_MAX,
    example: { input: "Hello" },
    models: (spec) => staying(spec.embeddings?.models),
  },
  images: {
    of: (vendor) => `Makes one image from words by a model of ${vendor}, for five cents at most.`,
    keywords: "image generation; text to image; picture; draw",
    asked: "a picture from words; draw something; image for a blog",
    params: z.looseObject({
      model: model.optional(),
      prompt: z.string().min(1).describe("What the image shows"),
      size: z.string().optional().describe("Such as 1024x1024"),
      quality: z.string().optional().describe("Unset, the best that five cents pay for"),
      n: z.literal(1).optional().describe("One image a call"),
    }),
    cents: IMAGE_CENTS_MAX,
    example: { prompt: "A lighthouse in the fog" },
    models: ({ unitModels = {} }) => staying(unitModels).filter((name) => unitModels[name]?.kind === "images"),
  },
};

/** The model in examples, and the default where the wire allows calls without one; undefined if all the vendor's models are ending. */
export function nativeModel(spec: AdapterSpec, wire: NativeWire): string | undefined {
  return NATIVE_WIRES[wire].models(spec)[0];
}

export function nativeFacts(spec: AdapterSpec, wire: NativeWire): NativeFacts {
  const { of, keywords, asked, params, cents, example } = NATIVE_WIRES[wire];
  const price: PriceSpec = { mode: "capped", cents, minCents: 0, unit: wire === "images" ? "image" : "token" };
  return {
    description: of(spec.name),
    category: "models",
    keywords,
    asked,
    effect: "read",
    params: params as ActionFacts["params"],
    price,
    example: { params: { model: nativeModel(spec, wire) ?? "", ...example } },
  };
}
