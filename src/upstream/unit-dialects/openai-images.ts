// OpenAI's images: generated from text, or edited from images and text; whole, or as events with partial images.
import { defined, isRecord, type Json } from "../../core/json.ts";
import type { Counts } from "../../core/route.ts";
import { FormBody } from "../../platform/uploads/form-body.ts";
import { atPointer, countOf } from "../json-pointer.ts";
import { malformed } from "../vendor-failure.ts";
import { eventBytes, formFields, type UnitAsked, type UnitDialect, type UnitEvent } from "./unit-dialect.ts";

/** The tokens that the vendor reports, or the number of images if it charges per image. */
function countsOf(usage: unknown, images: number, { unit }: UnitAsked): Counts | null {
  return unit === undefined ? tokensOf(usage) : { [unit]: images };
}

function tokensOf(usage: unknown): Counts | null {
  if (!isRecord(usage)) return null;
  const input = countOf(usage.input_tokens);
  const imageIn = Math.min(input, countOf(atPointer(usage, "/input_tokens_details/image_tokens")));
  const output = countOf(usage.output_tokens);
  const textOut = Math.min(output, countOf(atPointer(usage, "/output_tokens_details/text_tokens")));
  return { textIn: input - imageIn, imageIn, textOut, imageOut: output - textOut };
}

function isImage({ b64_json, url }: Json): boolean {
  return [b64_json, url].some((image) => typeof image === "string" && image !== "");
}

function event(json: Json, asked: UnitAsked): UnitEvent | null {
  const type = String(json.type);
  if (type.endsWith(".partial_image")) return { kind: "content", bytes: eventBytes(json, type) };
  if (!type.endsWith(".completed")) return null;
  if (!isImage(json)) return { failed: malformed("the answer has no image") };
  const counts = countsOf(json.usage, 1, asked);
  const finished = { kind: "finish", bytes: eventBytes(json, type), bears: true } as const;
  return counts === null ? finished : { ...finished, counts };
}

export const openaiImages: UnitDialect = {
  request(asked, { upstreamModel }) {
    const body = defined({ ...asked.body, model: upstreamModel, ...(asked.stream ? { stream: true } : {}) });
    if (asked.task !== "edit") return { path: "/images/generations", body };
    return { path: "/images/edits", body: {}, form: new FormBody(formFields(body), asked.files) };
  },
  answer(json, asked, { createdS }) {
    // Entries without an image are neither returned nor charged.
    const data = Array.isArray(json.data) ? json.data.filter(isRecord).filter(isImage) : [];
    if (data.length === 0) return malformed("the answer has no image");
    return { body: { created: createdS, ...json, data }, counts: countsOf(json.usage, data.length, asked) };
  },
  event,
  // With a price per image, usage does not say how many were made.
  told: (json, { unit }) => (unit === undefined ? tokensOf(json.usage) : null),
};
