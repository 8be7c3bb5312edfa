// A session's settings: checks and rewrites what the client sets, and shows the client what it would have seen without us.
import { GatewayError } from "../../core/errors.ts";
import { isRecord, type Json } from "../../core/json.ts";
import { atPointer } from "../../upstream/json-pointer.ts";
import { invalid } from "../formats/parse-json.ts";
import { settingsBytes } from "./context.ts";

/** Sound of 16 bits at 24 kHz; the telephone's formats have 8 bits at 8 kHz. */
const PCM_BYTES = 2;
const PCM_RATE = 24_000;
const TELEPHONE_BYTES_PER_SECOND = 8_000;

/** What the client sets, as far as it changes what the session costs. */
export interface Settings {
  /** The client wants the vendor to answer at the end of each turn. */
  readonly answersTurns: boolean;
  readonly maxOutputTokens: number | null;
  readonly isText: boolean;
  readonly bytesPerSecond: number;
  /** Of the instructions and tools, which a response may replace for itself. */
  readonly promptBytes: number;
}

export const DEFAULT_SETTINGS: Settings = {
  answersTurns: false,
  maxOutputTokens: null,
  isText: false,
  bytesPerSecond: PCM_BYTES * PCM_RATE,
  promptBytes: 0,
};

function unpriced(param: string, detail: string): GatewayError {
  return new GatewayError("unsupported_field", { param, detail: { param, detail } });
}

/** Throws for fields that are not sold, in a session or a response. */
export function requireSold({ prompt, tools }: Json, at: string): void {
  if (prompt != null) throw unpriced(`${at}.prompt`, "it is kept by the provider, so its length is unknown.");
  const tool = Array.isArray(tools) ? tools.find((one) => !isRecord(one) || one.type !== "function") : undefined;
  if (tool !== undefined) throw unpriced(`${at}.tools`, "only functions are, since the provider runs other tools.");
}

/** `max_output_tokens`; null: only the model limits it; undefined: it is not valid. */
function limitIn(value: unknown): number | null | undefined {
  if (value === undefined || value === null || value === "inf") return null;
  return Number.isInteger(value) && Number(value) > 0 ? Number(value) : undefined;
}

/** A client's `max_output_tokens`; null: only the model limits it. */
export function outputTokensIn(value: unknown, param: string): number | null {
  const limit = limitIn(value);
  if (limit === undefined) throw invalid(param, 'must be a whole number above 0, or "inf"');
  return limit;
}

function isTextOnly(modalities: unknown): boolean {
  return Array.isArray(modalities) && !modalities.includes("audio");
}

function bytesPerSecondOf(format: unknown): number | null {
  if (!isRecord(format)) return null;
  if (format.type !== "audio/pcm") return TELEPHONE_BYTES_PER_SECOND;
  return typeof format.rate === "number" && format.rate > 0 ? PCM_BYTES * format.rate : PCM_BYTES * PCM_RATE;
}

/** The settings after the vendor has confirmed a session; `answersTurns` is the client's own wish. */
export function confirmed(session: Json, answersTurns: boolean, before: Settings): Settings {
  const limit = limitIn(session.max_output_tokens);
  return {
    answersTurns: answersTurns && atPointer(session, "/audio/input/turn_detection") != null,
    maxOutputTokens: limit === undefined ? before.maxOutputTokens : limit,
    isText: isTextOnly(session.output_modalities),
    bytesPerSecond: bytesPerSecondOf(atPointer(session, "/audio/input/format")) ?? before.bytesPerSecond,
    promptBytes: settingsBytes(session),
  };
}

/** What an update may change before the vendor has confirmed it. */
export interface Unconfirmed {
  readonly maxOutputTokens: number | null | undefined;
  readonly isText: boolean;
  readonly bytesPerSecond: number;
}

export function unconfirmedIn({ max_output_tokens: limit, output_modalities, ...session }: Json): Unconfirmed {
  const bytesPerSecond = bytesPerSecondOf(atPointer(session, "/audio/input/format")) ?? Number.POSITIVE_INFINITY;
  return {
    maxOutputTokens: limit === undefined ? undefined : limitIn(limit),
    isText: output_modalities === undefined || isTextOnly(output_modalities),
    bytesPerSecond: Math.max(TELEPHONE_BYTES_PER_SECOND, bytesPerSecond),
  };
}

/** The newest limit, which each request repeats; otherwise the dearer of both, because the vendor may still refuse the update. */
export function withUnconfirmed(before: Settings, asked: Unconfirmed): Settings {
  return {
    ...before,
    maxOutputTokens: asked.maxOutputTokens === undefined ? before.maxOutputTokens : asked.maxOutputTokens,
    isText: before.isText && asked.isText,
    bytesPerSecond: Math.min(before.bytesPerSecond, asked.bytesPerSecond),
  };
}

/** A checked update: what the vendor gets, and what it asks. */
export interface SessionUpdate {
  readonly session: Json;
  /** Undefined: unchanged. */
  readonly answersTurns: boolean | undefined;
  /** Undefined: unchanged; null: off. */
  readonly transcription: Json | null | undefined;
}

/** Reads `session` of an update. Throws where it is not valid. `isModel`: whether a name is the session's own model, which the vendor calls `upstreamModel`. */
export function readUpdate(
  sent: unknown,
  { isModel, upstreamModel }: { readonly isModel: (name: unknown) => boolean; readonly upstreamModel: string },
): SessionUpdate {
  if (!isRecord(sent)) throw invalid("session", "is missing, must be an object");
  if (sent.type !== undefined && sent.type !== "realtime") throw invalid("session.type", 'must be "realtime"');
  if (sent.model !== undefined && !isModel(sent.model))
    throw invalid("session.model", "the model of a session cannot be changed");
  outputTokensIn(sent.max_output_tokens, "session.max_output_tokens");
  // Traces would go to the operator's own account.
  const { tracing: _, model, turn_detection: old, ...rest } = sent;
  if (old !== undefined) throw invalid("session.turn_detection", "belongs into session.audio.input");
  requireSold(rest, "session");
  const named = { ...rest, type: "realtime", ...(model === undefined ? {} : { model: upstreamModel }) };
  const turns = atPointer(sent, "/audio/input/turn_detection");
  const transcription = atPointer(sent, "/audio/input/transcription");
  if (isRecord(turns) && turns.idle_timeout_ms != null)
    throw unpriced("session.audio.input.turn_detection.idle_timeout_ms", "it starts responses without a turn.");
  if (transcription != null && (!isRecord(transcription) || typeof transcription.model !== "string"))
    throw invalid("session.audio.input.transcription.model", "is missing, must be a string");
  const turn_detection = isRecord(turns) ? { ...turns, create_response: false } : turns;
  return {
    session: turns === undefined ? named : withInput(named, "turn_detection", turn_detection),
    answersTurns: turns === undefined ? undefined : isRecord(turns) && turns.create_response !== false,
    transcription: transcription as Json | null | undefined,
  };
}

/** Puts a field into `audio.input` of a session. */
export function withInput(session: Json, field: string, value: unknown): Json {
  const audio = isRecord(session.audio) ? session.audio : {};
  const input = isRecord(audio.input) ? audio.input : {};
  return { ...session, audio: { ...audio, input: { ...input, [field]: value } } };
}

/** A session as the vendor shows it, under our model's name and with the client's own wish about turns. */
export function shown(session: Json, model: string, answersTurns: boolean): Json {
  const named = { ...session, model };
  const turns = atPointer(session, "/audio/input/turn_detection");
  return isRecord(turns) ? withInput(named, "turn_detection", { ...turns, create_response: answersTurns }) : named;
}
