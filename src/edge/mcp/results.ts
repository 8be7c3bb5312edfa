// A gateway answer as a tool result: the envelope as structured content, errors marked, long data cut with a link to the rest.
import type { CallToolResult } from "@modelcontextprotocol/server";
import { type ErrorCode, GatewayError } from "../../core/errors.ts";
import { isRecord, type Json } from "../../core/json.ts";
import type { KeptAnswer } from "../serve/kept-reply.ts";

import { type Leftovers, PAGE_CHARS_MAX, pagesOf } from "./leftovers.ts";

/** Larger media is mentioned, not included. */
const MEDIA_BYTES_MAX = 1024 * 1024;

/** Longer text is cut without parsing, which would delay every other caller. A completion is one long string, which parses faster. */
const READ_CHARS_MAX = { chat: 2 * 1024 * 1024, envelope: 256 * 1024 };

const LEFT = "The call was left before it ended.";

function text(said: string): CallToolResult["content"][number] {
  return { type: "text", text: said };
}

function failure(error: string, message: string): CallToolResult {
  const structuredContent = { ok: false, error, message };
  return { content: [text(`${error}: ${message}`)], structuredContent, isError: true };
}

/** An error of any of our formats: its code, and what to do next. */
function failureOf(json: Json): CallToolResult {
  const inner = isRecord(json.error) ? json.error : json;
  const code = String(inner.code ?? json.error ?? "internal_error");
  const { message, hint } = inner;
  const said = [`${code}: ${String(message ?? "")}`, hint === undefined ? "" : String(hint)].filter(Boolean).join(" ");
  return { content: [text(said)], structuredContent: json, isError: true };
}

function mediaOf({ type, bytes }: KeptAnswer): CallToolResult {
  const kind = type.startsWith("image/") ? "image" : type.startsWith("audio/") ? "audio" : null;
  if (kind === null || bytes.length > MEDIA_BYTES_MAX) {
    return {
      content: [text(`The answer is ${bytes.length} bytes of ${type}: call the action over HTTP to have them.`)],
    };
  }
  return { content: [{ type: kind, data: bytes.toString("base64"), mimeType: type }] };
}

interface Cut {
  readonly content: CallToolResult["content"];
  /** The note on the cut, besides the content. */
  readonly told: Json;
}

/** The first page of a long text, and how to get the others. */
async function cutOf(whole: string, leftovers: Leftovers): Promise<Cut> {
  const [first = "", ...rest] = pagesOf(whole);
  const continuation = await leftovers.keep(rest);
  const next =
    continuation === null
      ? "The rest is not kept: ask for less, or ask over HTTP."
      : `Cut: ask get_result with continuation ${continuation} for the rest.`;
  return { content: [text(first), text(next)], told: { cut: true, characters: whole.length, continuation } };
}

async function chatOf(json: Json, leftovers: Leftovers): Promise<CallToolResult> {
  const [choice] = Array.isArray(json.choices) ? json.choices.filter(isRecord) : [];
  const message = isRecord(choice?.message) ? choice.message : {};
  const said = typeof message.content === "string" ? message.content : "";
  const about = { model: json.model, finish_reason: choice?.finish_reason, usage: json.usage };
  if (said.length <= PAGE_CHARS_MAX) return { content: [text(said)], structuredContent: { text: said, ...about } };
  const { content, told } = await cutOf(said, leftovers);
  return { content, structuredContent: { ...about, ...told } };
}

const AFTER_DATA = ',"charged_cents":';
/** After its data an envelope has only a few numbers and an id. */
const AFTER_DATA_CHARS_MAX = 1_000;

/** An envelope that is too long to parse, without its data. The gateway writes what follows the data, so the last marker is its own. */
function aroundData(whole: string): Json {
  const at = whole.lastIndexOf(AFTER_DATA);
  if (at < 0 || whole.length - at > AFTER_DATA_CHARS_MAX) return {};
  const json: unknown = JSON.parse(`{"ok":true${whole.slice(at)}`);
  return isRecord(json) ? json : {};
}

async function wholeOf(json: Json, whole: string, leftovers: Leftovers): Promise<CallToolResult> {
  if (whole.length <= PAGE_CHARS_MAX) return { content: [text(whole)], structuredContent: json };
  const { data: _, ...rest } = json;
  const { content, told } = await cutOf(whole, leftovers);
  return { content, structuredContent: { ...rest, ...told } };
}

export async function resultOf(
  answer: KeptAnswer,
  shows: "chat" | undefined,
  leftovers: Leftovers,
): Promise<CallToolResult> {
  if (answer.status === 0) return failure("request_timeout", LEFT);
  if (!answer.type.includes("json")) return mediaOf(answer);
  const whole = answer.bytes.toString("utf8");
  if (whole.length > READ_CHARS_MAX[shows ?? "envelope"]) return wholeOf(aroundData(whole), whole, leftovers);
  const json: unknown = JSON.parse(whole);
  if (!isRecord(json)) return { content: [text(whole)] };
  if (answer.status >= 400) return failureOf(json);
  return shows === "chat" ? chatOf(json, leftovers) : wholeOf(json, whole, leftovers);
}

export async function continued(id: string, leftovers: Leftovers): Promise<CallToolResult> {
  const page = await leftovers.take(id);
  if (page === null) return failure("not_found", `continuation ${id.slice(0, 80)} is not kept: pages are for an hour.`);
  const structuredContent = { cut: page.next !== null, characters: page.text.length, continuation: page.next };
  return { content: [text(page.text)], structuredContent };
}

export function failed(code: ErrorCode): CallToolResult {
  const { message, hint } = new GatewayError(code);
  return failure(code, `${message} ${hint}`);
}

/** A result for arguments that do not match the schema. */
export function wrongArguments(detail: string): CallToolResult {
  return failure("bad_request", detail);
}
