// The realtime wire as the relay reads it: event types without parsing, errors, and the usage of a response.
import type { GatewayError } from "../../core/errors.ts";
import { isRecord, type Json } from "../../core/json.ts";
import { readJson } from "../../core/json-bytes.ts";
import type { Counts } from "../../core/route.ts";
import { atPointer, countOf } from "../../upstream/json-pointer.ts";
import { errorObject } from "../formats/error-object.ts";
import { invalid } from "../formats/parse-json.ts";

/** Events that cost nothing. */
export const PASSED: ReadonlySet<string> = new Set([
  "conversation.item.retrieve",
  "conversation.item.delete",
  "conversation.item.truncate",
  "response.cancel",
  "output_audio_buffer.clear",
]);
/** The vendor's events that are parsed; all others pass as they come. */
export const PARSED: ReadonlySet<string> = new Set([
  "session.created",
  "session.updated",
  "response.created",
  "response.done",
  "input_audio_buffer.committed",
  "conversation.item.input_audio_transcription.completed",
  "conversation.item.input_audio_transcription.failed",
  "error",
]);
/** The error for a buffer without sound. */
export const NOTHING_COMMITTED = "input_audio_buffer_commit_empty";
/** It is about the operator's account. */
export const HIDDEN = "rate_limits.updated";

const QUOTE = 0x22;
const CLOSE_OBJECT = 0x7d;
const APPEND = /^\{ ?"type": ?"input_audio_buffer\.append", ?"audio": ?"/;
const APPEND_CHARS_MAX = 60;
const TYPE = /^\{(?:"event_id": ?"[^"\\]{0,80}", ?)?"type": ?"([a-z_.]{1,80})"/;
const TYPE_CHARS_MAX = 200;

/**
 * The base64 characters of a plain `input_audio_buffer.append`; null for any other event, which must be parsed. Nothing but the end of the
 * object may follow the sound, so that no later key can turn it into another event.
 */
export function appendedChars(bytes: Buffer): number | null {
  const head = APPEND.exec(bytes.toString("latin1", 0, APPEND_CHARS_MAX));
  if (head === null || bytes[bytes.length - 1] !== CLOSE_OBJECT) return null;
  const from = head[0].length;
  return bytes.indexOf(QUOTE, from) === bytes.length - 2 ? bytes.length - 2 - from : null;
}

/** The type of a vendor's event, from its first characters; null: it must be parsed. */
export function typeOf(bytes: Buffer): string | null {
  return TYPE.exec(bytes.toString("latin1", 0, TYPE_CHARS_MAX))?.[1] ?? null;
}

/** A vendor's event; null: it is none. */
export function vendorEvent(bytes: Buffer): Json | null {
  const read = readJson(bytes);
  return "json" in read && isRecord(read.json) && typeof read.json.type === "string" ? read.json : null;
}

/** A client's event. Throws where it is none. */
export function readEvent(bytes: Buffer): Json {
  const read = readJson(bytes);
  if ("wrong" in read) throw invalid("", read.wrong);
  if (!isRecord(read.json)) throw invalid("", "must be a JSON object");
  if (typeof read.json.type !== "string") throw invalid("type", "is missing, must be a string");
  return read.json;
}

let errors = 0;

/** An error as an event. What is short of money has OpenAI's code, which its clients know. */
export function errorEvent(error: GatewayError, clientEventId: string | null = null): string {
  const object = errorObject(error);
  const code = object.type === "insufficient_quota" ? "insufficient_quota" : object.code;
  errors += 1;
  const event_id = `event_tg_${errors}`;
  return JSON.stringify({ type: "error", event_id, error: { ...object, code, event_id: clientEventId } });
}

/** The money of the account, its key or its budgets does not suffice. */
export function isShort(error: GatewayError): boolean {
  return errorObject(error).type === "insufficient_quota";
}

/** Splits a total into uncached and cached. */
function uncached(details: unknown, kind: string, cached: number): number {
  return Math.max(0, countOf(atPointer(details, `/${kind}_tokens`)) - cached);
}

/** The units of a response's usage; null if it has none. */
export function responseCounts(usage: unknown): Counts | null {
  if (!isRecord(usage)) return null;
  const { input_token_details: details, output_token_details: output } = usage;
  const input = countOf(usage.input_tokens);
  const total = countOf(usage.output_tokens);
  const cachedOf = (kind: string) => countOf(atPointer(details, `/cached_tokens_details/${kind}_tokens`));
  const [cachedAudioIn, cachedImageIn] = [cachedOf("audio"), cachedOf("image")];
  // A cache that is not split by kind holds text.
  const cachedIn = Math.max(
    cachedOf("text"),
    countOf(atPointer(details, "/cached_tokens")) - cachedAudioIn - cachedImageIn,
  );
  const imageIn = uncached(details, "image", cachedImageIn);
  const textIn = uncached(details, "text", cachedIn);
  const audioIn = uncached(details, "audio", cachedAudioIn);
  const textOut = countOf(atPointer(output, "/text_tokens"));
  const known = textIn + audioIn + imageIn + cachedIn + cachedAudioIn + cachedImageIn;
  // Tokens of no stated kind count as sound, the dearest.
  return {
    textIn,
    cachedIn,
    audioIn: audioIn + Math.max(0, input - known),
    cachedAudioIn,
    imageIn,
    cachedImageIn,
    textOut,
    audioOut: Math.max(countOf(atPointer(output, "/audio_tokens")), total - textOut),
  };
}
