// Images in the sandbox, in the formats of three vendors: one pixel each, with counts and errors like theirs.
import { z } from "zod";
import { isRecord } from "../../core/json.ts";
import { CHAT_COMPLETIONS, GENERATE_CONTENT } from "../conventions.ts";
import { type Dialect, type DialectEvent, refuse, type Target } from "../dialect.ts";
import { inputAsk, strictly, unitDialect, unitReading } from "./unit-reading.ts";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const TOKENS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  low: { "1024x1024": 272, "1024x1536": 408, "1536x1024": 400 },
  medium: { "1024x1024": 1_056, "1024x1536": 1_584, "1536x1024": 1_568 },
  high: { "1024x1024": 4_160, "1024x1536": 6_240, "1536x1024": 6_208 },
};
const PARTIAL_TOKENS = 100;
const IMAGE_IN_TOKENS = 323;

const gptFields = {
  model: z.string().regex(/^gpt-image-/),
  prompt: z.string().min(1).max(32_000),
  n: z.coerce.number().int().min(1).max(10).optional(),
  size: z.enum(["auto", "1024x1024", "1024x1536", "1536x1024"]).optional(),
  quality: z.enum(["auto", "low", "medium", "high"]).optional(),
  background: z.enum(["transparent", "opaque", "auto"]).optional(),
  output_format: z.enum(["png", "jpeg", "webp"]).optional(),
  output_compression: z.coerce.number().int().min(0).max(100).optional(),
  moderation: z.enum(["low", "auto"]).optional(),
  stream: z.union([z.boolean(), z.literal("true").transform(() => true)]).optional(),
  partial_images: z.coerce.number().int().min(0).max(3).optional(),
  user: z.string().optional(),
};
const gpt = z.strictObject(gptFields);
const gptEdit = z.strictObject({
  ...gptFields,
  input_fidelity: z.enum(["low", "high"]).optional(),
  image: z
    .array(z.object({ type: z.string().regex(/^image\//), bytes: z.int().min(1) }))
    .min(1)
    .max(16),
  mask: z
    .array(z.object({ type: z.literal("image/png"), bytes: z.int().min(1) }))
    .length(1)
    .optional(),
});
const dallE = z.strictObject({
  model: z.enum(["dall-e-2", "dall-e-3"]),
  prompt: z.string().min(1).max(4_000),
  n: z.int().min(1).max(10).optional(),
  size: z.enum(["256x256", "512x512", "1024x1024", "1024x1792", "1792x1024"]).optional(),
  quality: z.enum(["standard", "hd"]).optional(),
  style: z.enum(["vivid", "natural"]).optional(),
  response_format: z.enum(["url", "b64_json"]).optional(),
  user: z.string().optional(),
});
type Gpt = z.infer<typeof gpt>;

/** A size of `auto` counts as square, a quality of `auto` as medium. */
function usageOf({ prompt, n = 1, size = "auto", quality = "auto", partial_images = 0 }: Gpt, images: number) {
  const square = size === "auto" ? "1024x1024" : size;
  const each = TOKENS[quality === "auto" ? "medium" : quality]?.[square] ?? 0;
  const text_tokens = prompt.split(/\s+/).length + 4;
  const image_tokens = images * IMAGE_IN_TOKENS;
  const output_tokens = n * each + partial_images * PARTIAL_TOKENS;
  const input_tokens = text_tokens + image_tokens;
  const total_tokens = input_tokens + output_tokens;
  return { input_tokens, input_tokens_details: { text_tokens, image_tokens }, output_tokens, total_tokens };
}

function gptReading(asked: Gpt, kind: "image_generation" | "image_edit", images: number) {
  const { n = 1, stream = false, partial_images = 0 } = asked;
  const event = (type: string, more: object, last: boolean): DialectEvent => {
    const data = JSON.stringify({ type: `${kind}.${type}`, b64_json: PIXEL, created_at: 1_700_000_000, ...more });
    return { name: `${kind}.${type}`, data, tokens: 1, kind: last ? "closing" : "content" };
  };
  return unitReading(
    inputAsk(asked.model, [asked.prompt], stream),
    () => ({
      created: 1_700_000_000,
      data: Array.from({ length: n }, () => ({ b64_json: PIXEL })),
      usage: usageOf(asked, images),
    }),
    () => [
      ...Array.from({ length: partial_images }, (_, at) => event("partial_image", { partial_image_index: at }, false)),
      event("completed", { usage: usageOf(asked, images) }, true),
    ],
  );
}

const readGpt = strictly(gpt, (asked) => gptReading(asked, "image_generation", 0));
const readDallE = strictly(dallE, (asked) => {
  const { model, prompt, n = 1, size = "1024x1024", response_format = "url" } = asked;
  if (model === "dall-e-3" && n > 1) return refuse("n", "You must provide n=1 for this model.");
  if (model === "dall-e-2" && /1792/.test(size)) return refuse("size", `Invalid value: '${size}'.`);
  const image = response_format === "url" ? { url: "https://images.example/one.png" } : { b64_json: PIXEL };
  return unitReading(inputAsk(model, [prompt]), () => ({
    created: 1_700_000_000,
    data: Array.from({ length: n }, () => image),
  }));
});

export const openaiImages: Dialect = {
  ...CHAT_COMPLETIONS,
  path: /\/images\/generations$/,
  read: (json, target) =>
    isRecord(json) && /^dall-e/.test(String(json.model)) ? readDallE(json, target) : readGpt(json, target),
};

export const openaiImageEdits = unitDialect(/\/images\/edits$/, gptEdit, (asked) => {
  return gptReading(asked, "image_edit", asked.image.length);
});

const gemini = z.strictObject({
  contents: z.array(z.strictObject({ role: z.literal("user"), parts: z.array(z.strictObject({ text: z.string() })) })),
  generationConfig: z.strictObject({
    responseModalities: z.array(z.enum(["TEXT", "IMAGE"])),
    maxOutputTokens: z.int().min(1),
    imageConfig: z
      .strictObject({ aspectRatio: z.enum(["1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"]) })
      .optional(),
  }),
});

const geminiPath = /\/models\/([^/:]*-image[^/:]*):generateContent$/;
const geminiDialect = unitDialect(geminiPath, gemini, (asked, { url }) => {
  const model = geminiPath.exec(url.pathname)?.[1] ?? "";
  const prompt = asked.contents.flatMap(({ parts }) => parts.map(({ text }) => text)).join(" ");
  return unitReading(inputAsk(model, [prompt]), ({ usage }) => ({
    candidates: [
      {
        content: { role: "model", parts: [{ inlineData: { mimeType: "image/png", data: PIXEL } }] },
        finishReason: "STOP",
        index: 0,
      },
    ],
    usageMetadata: {
      promptTokenCount: usage.promptTokens,
      candidatesTokenCount: 1_290,
      thoughtsTokenCount: 64,
      totalTokenCount: usage.promptTokens + 1_354,
      promptTokensDetails: [{ modality: "TEXT", tokenCount: usage.promptTokens }],
      candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1_290 }],
    },
    modelVersion: model,
  }));
});
export const geminiImages = {
  ...geminiDialect,
  hasCredential: GENERATE_CONTENT.hasCredential,
  error: GENERATE_CONTENT.error,
};

const fal = z.strictObject({
  prompt: z.string().min(1),
  num_images: z.int().min(1).max(4).optional(),
  image_size: z.strictObject({ width: z.int().min(64).max(14_142), height: z.int().min(64).max(14_142) }).optional(),
  output_format: z.enum(["jpeg", "png"]).optional(),
  sync_mode: z.boolean().optional(),
  seed: z.int().optional(),
});

const falDialect = unitDialect(/\/fal\/~run\//, fal, (asked, { url }) => {
  const { prompt, num_images = 1, image_size = { width: 1_024, height: 768 }, sync_mode = false } = asked;
  const address = sync_mode ? `data:image/png;base64,${PIXEL}` : "https://v3.fal.media/files/one.png";
  return unitReading(inputAsk(url.pathname.replace(/^\/fal\/~run\//, ""), [prompt]), () => ({
    images: Array.from({ length: num_images }, () => ({ url: address, ...image_size, content_type: "image/png" })),
    timings: { inference: 0.4 },
    seed: 42,
    has_nsfw_concepts: Array.from({ length: num_images }, () => false),
    prompt,
  }));
});
export const falImages = {
  ...falDialect,
  hasCredential: ({ headers }: Target) => /^Key +\S/.test(headers.authorization ?? ""),
};
