// Readers for errors and for the vendor's reported cost, which several wires share.
import { isRecord, type Json, stringOf } from "../../core/json.ts";
import { type Nano, parseUsd } from "../../core/money.ts";
import { atPointer } from "../json-pointer.ts";
import type { ChatContext, VendorError } from "./dialect.ts";

/** The cost in nano-USD that the vendor's usage object reports. */
export function upstreamCostFrom(usage: unknown, context: ChatContext): Nano | null {
  const pointer = context.spec.costUsdAt;
  const usd = pointer === undefined ? undefined : atPointer(usage, pointer);
  if (typeof usd !== "number" || !(usd >= 0) || usd > 1e6) return null;
  return parseUsd(usd.toFixed(9));
}

/** Reads an OpenAI-shaped error: `{error: {...}}`, `{error: "text"}`, `{message, type, code}`, `{detail}`. */
export function readError(body: unknown): VendorError {
  if (!isRecord(body)) return { words: [], message: typeof body === "string" ? body : "no message" };
  const inner = isRecord(body.error) ? body.error : body;
  const words = [inner.type, inner.code, inner.status, atPointer(inner, "/metadata/error_type")]
    .filter((word) => typeof word === "string" || typeof word === "number")
    .map((word) => String(word).toLowerCase());
  const message = [inner.message, body.error, inner.detail, body.message].find((text) => typeof text === "string");
  return { words, message: message === undefined ? JSON.stringify(inner) : String(message) };
}

/** The HTTP status that an error inside a 200 reports, such as OpenRouter's numeric `code`; 200 if it has none. */
export function statusInside(body: unknown): number {
  const code = atPointer(body, "/error/code");
  return typeof code === "number" && code >= 400 && code < 600 ? code : 200;
}

/** Google sends this sentence with every limit, even one that lifts in seconds. */
const PLAN_SENTENCE = /you exceeded your current quota, please check your plan and billing details\.?/i;

function retryDelayMs(details: readonly Json[]): number | null {
  for (const detail of details) {
    const seconds = /^(\d+(?:\.\d+)?)s$/.exec(stringOf(detail.retryDelay) ?? "")?.[1];
    if (seconds !== undefined) return Math.ceil(Number(seconds) * 1000);
  }
  return null;
}

/** Reads `{error: {code, message, status, details}}`, or a list that begins with one. */
export function generateContentError(body: unknown): VendorError {
  const first: unknown = Array.isArray(body) ? body[0] : body;
  if (!isRecord(first)) return { words: [], message: typeof first === "string" ? first : "no message" };
  const error = isRecord(first.error) ? first.error : first;
  const details = Array.isArray(error.details) ? error.details.filter(isRecord) : [];
  const reasons = details.map((detail) => stringOf(detail.reason));
  const words = [stringOf(error.status), ...reasons]
    .filter((word) => word !== undefined)
    .map((word) => word.toLowerCase());
  if (words.includes("api_key_invalid")) words.push("invalid_api_key");
  const retryAfterMs = retryDelayMs(details);
  const message = stringOf(error.message) ?? JSON.stringify(error);
  return {
    words,
    message: retryAfterMs === null ? message : message.replace(PLAN_SENTENCE, "quota exceeded"),
    retryAfterMs,
  };
}
