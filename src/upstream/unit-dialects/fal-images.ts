// Images from a vendor with one URL per model, which returns images as data or as links.
import { isRecord, type Json } from "../../core/json.ts";
import type { VendorError } from "../format-kit/dialect.ts";
import { readError } from "../format-kit/error-body.ts";
import { atPointer } from "../json-pointer.ts";
import { malformed } from "../vendor-failure.ts";
import type { UnitDialect } from "./unit-dialect.ts";

const DATA = /^data:[^;,]*;base64,/;
const PIXELS_PER_UNIT = 1_000_000;

/** Reads an error body: a list of faults, each with a type. */
function error(body: unknown): VendorError {
  const first = atPointer(body, "/detail/0");
  if (!isRecord(first)) return readError(body);
  return { words: [String(first.type)], message: String(first.msg ?? first.type) };
}

/** Megapixels, rounded up; if the image does not state its size, the requested one counts. */
function megapixels({ width, height }: Record<string, unknown>, asked: unknown): number {
  const pixels = Number(width) * Number(height);
  const told = Number.isFinite(pixels) && pixels > 0 ? pixels : Number(asked);
  return Math.max(1, Math.ceil(told / PIXELS_PER_UNIT));
}

export const falImages: UnitDialect = {
  request({ body }, { spec }) {
    const { asked_pixels: _, response_format, ...fields } = body;
    return { path: spec.path ?? "/", body: { ...fields, sync_mode: response_format !== "url" } };
  },
  answer(json, { body }, { createdS }) {
    const told = Array.isArray(json.images) ? json.images.filter(isRecord) : [];
    // Entries without an image are neither returned nor charged.
    const images = told.filter(({ url }) => typeof url === "string" && url !== "");
    const data = images.map(({ url }): Json => {
      return DATA.test(String(url)) ? { b64_json: String(url).replace(DATA, "") } : { url };
    });
    if (data.length === 0) return malformed("the answer has no image");
    const pixels = images.reduce((sum, image) => sum + megapixels(image, body.asked_pixels), 0);
    return { body: { created: createdS, data }, counts: { megapixels: pixels } };
  },
  error,
};
