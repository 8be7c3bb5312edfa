// Images in OpenAI's format: a size and quality without a price is refused.
import { z } from "zod";
import type { UnitOffer } from "../../../catalog/catalog.ts";
import { imageUnit } from "../../../catalog/unit-price.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { Counts } from "../../../core/route.ts";
import { refused, tableOf, text } from "../../formats/field-table.ts";
import { invalid } from "../../formats/parse-json.ts";
import type { UnitAsk, UnitEndpoint, UnitFit } from "../unit-endpoint.ts";

const PROMPT_CHARS_MAX = 32_000;
const IMAGES_MAX = 10;
/** Extra cost of each partial image. */
const PARTIAL_IMAGE_TOKENS = 100;
const AUTO = "auto";
const SIDE_MAX = 2_048;

/** Form fields are strings. */
const int = z.coerce.number().pipe(z.int());
const flag = z.union([z.boolean(), z.enum(["true", "false"]).transform((text) => text === "true")]);
const word = z.string().max(40);

const body = z.object({
  model: z.string().min(1).max(200).nullish(),
  prompt: z.string().min(1).max(PROMPT_CHARS_MAX),
  n: int.pipe(z.int().min(1).max(IMAGES_MAX)).nullish(),
  size: word.nullish(),
  quality: word.nullish(),
  style: word.nullish(),
  background: z.enum(["transparent", "opaque", "auto"]).nullish(),
  output_format: z.enum(["png", "jpeg", "webp"]).nullish(),
  output_compression: int.pipe(z.int().min(0).max(100)).nullish(),
  moderation: z.enum(["low", "auto"]).nullish(),
  input_fidelity: z.enum(["low", "high"]).nullish(),
  response_format: z.enum(["url", "b64_json"]).nullish(),
  stream: flag.nullish(),
  partial_images: int.pipe(z.int().min(0).max(3)).nullish(),
  user: z.string().nullish(),
});
type Body = z.infer<typeof body>;

const fields = tableOf(body, { prompt: text, frame_count: refused("it has no price.") });

function tokensOut(table: NonNullable<UnitOffer["spec"]["imageTokens"]>, size: string, quality: string): number | null {
  const sizes = size === AUTO ? Object.values(table) : [table[size]];
  const counts = sizes.flatMap((row) =>
    row === undefined ? [] : quality === AUTO ? Object.values(row) : [row[quality]],
  );
  const known = counts.filter((count) => count !== undefined);
  return known.length === 0 ? null : Math.max(...known);
}

function refusal({ size, quality }: Body): GatewayError {
  const param = size == null || size === AUTO ? "quality" : "size";
  const detail = `this model has no price for ${size ?? AUTO} at quality ${quality ?? AUTO}`;
  return new GatewayError("unsupported_field", { param, detail });
}

function wrongIn({ body: asked, files }: UnitAsk<Body>, { spec }: UnitOffer, task: string): GatewayError | null {
  const n = asked.n ?? 1;
  if (n > (spec.imagesMax ?? IMAGES_MAX)) return invalid("n", `this model makes at most ${spec.imagesMax} at once`);
  if (asked.stream === true && spec.streams !== true) return invalid("stream", "this model does not stream");
  if (asked.stream === true && n > 1) return invalid("n", "must be 1 with stream");
  if (asked.response_format != null && !(spec.formats ?? ["b64_json"]).includes(asked.response_format))
    return invalid("response_format", `this model answers with ${(spec.formats ?? ["b64_json"]).join(" or ")}`);
  if (task !== "edit") return null;
  if (spec.imageInTokensMax === undefined) return invalid("model", "this model edits no images");
  const strange = files.find(({ field }) => !/^(image(\[\])?|mask)$/.test(field));
  if (strange !== undefined) return invalid(strange.field, "is no field for a file here");
  return files.some(({ field }) => field !== "mask") ? null : invalid("image", "is missing, must be a file");
}

function byTokens({ body: asked, files }: UnitAsk<Body>, { spec }: UnitOffer): Counts | GatewayError {
  const n = asked.n ?? 1;
  const each = tokensOut(spec.imageTokens ?? {}, asked.size ?? AUTO, asked.quality ?? AUTO);
  if (each === null) return refusal(asked);
  const partial = (asked.partial_images ?? 0) * PARTIAL_IMAGE_TOKENS;
  const imageIn = files.length * (spec.imageInTokensMax ?? 0);
  return { textIn: Buffer.byteLength(asked.prompt), imageIn, imageOut: n * (each + partial) };
}

type Translate = (asked: Body, offer: UnitOffer) => UnitFit["body"] | GatewayError;

const RATIOS: Readonly<Record<string, string | undefined>> = {
  auto: undefined,
  "1024x1024": "1:1",
  "1536x1024": "3:2",
  "1024x1536": "2:3",
  "1792x1024": "16:9",
  "1024x1792": "9:16",
};

function sides(size: string): { readonly width: number; readonly height: number } | null {
  const [, width, height] = (/^(\d{2,4})x(\d{2,4})$/.exec(size === AUTO ? "1024x1024" : size) ?? []).map(Number);
  if (width === undefined || height === undefined || Math.max(width, height) > SIDE_MAX) return null;
  return { width, height };
}

const DIALECTS: Readonly<Record<string, Translate>> = {
  "openai-images": (asked, { spec }) => {
    const { model: _, stream: __, response_format, ...sent } = asked;
    // Models with a single format refuse the field.
    return (spec.formats ?? []).includes("url") ? { ...sent, response_format: response_format ?? undefined } : sent;
  },
  "gemini-images": ({ prompt, size, quality }) => {
    if (!(size == null || size in RATIOS)) return invalid("size", `must be one of ${Object.keys(RATIOS).join(", ")}`);
    if ((quality ?? AUTO) !== AUTO) return invalid("quality", "this model has one quality");
    return { prompt, aspectRatio: RATIOS[size ?? AUTO] };
  },
  "fal-images": ({ prompt, n, size, quality, output_format, response_format }) => {
    const image_size = sides(size ?? AUTO);
    if (image_size === null) return invalid("size", `must be <width>x<height>, at most ${SIDE_MAX} each`);
    if ((quality ?? AUTO) !== AUTO) return invalid("quality", "this model has one quality");
    if (output_format === "webp") return invalid("output_format", "this model makes png or jpeg");
    const asked_pixels = image_size.width * image_size.height;
    return {
      prompt,
      num_images: n ?? 1,
      image_size,
      output_format: output_format ?? "png",
      response_format,
      asked_pixels,
    };
  },
};

/** The maximum counts, and the price unit of one image where it has its own. */
function countsOf(ask: UnitAsk<Body>, offer: UnitOffer, translated: UnitFit["body"]) {
  const { body: asked } = ask;
  const { spec, cost } = offer;
  const n = asked.n ?? 1;
  if (cost.rates.has("megapixels"))
    return { countsMax: { megapixels: n * Math.max(1, Math.ceil(Number(translated.asked_pixels) / 1_000_000)) } };
  if (spec.imageTokens !== undefined) {
    const countsMax = byTokens(ask, offer);
    return countsMax instanceof GatewayError ? countsMax : { countsMax };
  }
  if (spec.outputTokensMax !== undefined)
    return { countsMax: { textIn: Buffer.byteLength(asked.prompt), imageOut: spec.outputTokensMax } };
  const unit = imageUnit(cost, asked.size ?? "1024x1024", asked.quality ?? "standard");
  return unit === null ? refusal(asked) : { countsMax: { [unit]: n }, unit };
}

function endpoint(operation: string, task: "generate" | "edit"): UnitEndpoint<Body> {
  return {
    operation,
    kind: "images",
    task,
    schema: body,
    fields,
    fit(ask, offer) {
      const wrong = wrongIn(ask, offer, task);
      if (wrong !== null) return wrong;
      const translated = DIALECTS[offer.spec.dialect]?.(ask.body, offer);
      if (translated === undefined) throw new Error(`no images in ${offer.spec.dialect}`);
      if (translated instanceof GatewayError) return translated;
      const counted = countsOf(ask, offer, translated);
      return counted instanceof GatewayError
        ? counted
        : { ...counted, body: translated, stream: ask.body.stream === true };
    },
    answerForm: ({ body: { stream } }) => ({ kind: stream === true ? "events" : "json" }),
    answerMsMax: 300_000,
    whenCallerLeaves: "finish",
  };
}

export const imageGenerations = endpoint("images", "generate");
export const imageEdits = endpoint("image_edits", "edit");
