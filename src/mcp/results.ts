// An answer of the gateway as the result of a tool: the envelope as structured content, errors marked, long data cut with a way to the rest.
import type { CallToolResult } from "@modelcontextprotocol/server";
import { isRecord, type Json } from "../json.ts";
import type { InnerAnswer } from "./inner-http.ts";
import type { Leftovers } from "./leftovers.ts";

/** Some 6,000 tokens: more would crowd out the model's own work. */
const TEXT_CHARS_MAX = 24_000;
/** Larger media is told of, not shown. */
const MEDIA_BYTES_MAX = 1024 * 1024;

/** Longer text is cut without being looked into: that would hold up every other caller. */
const READ_BYTES_MAX = 256 * 1024;

const LEFT = "The call was left before it ended.";

function text(said: string): CallToolResult["content"][number] {
  return { type: "text", text: said };
}

function failure(error: string, message: string): CallToolResult {
  const structuredContent = { ok: false, error, message };
  return { content: [text(`${error}: ${message}`)], structuredContent, isError: true };
}

/** What an error of any wire of ours says: its code, and what to do next. */
function failureOf(json: Json): CallToolResult {
  const inner = isRecord(json.error) ? json.error : json;
  const code = String(inner.code ?? json.error ?? "internal_error");
  const { message, hint } = inner;
  const said = [`${code}: ${String(message ?? "")}`, hint === undefined ? "" : String(hint)].filter(Boolean).join(" ");
  return { content: [text(said)], structuredContent: json, isError: true };
}

function mediaOf({ type, bytes }: InnerAnswer): CallToolResult {
  const kind = type.startsWith("image/") ? "image" : type.startsWith("audio/") ? "audio" : null;
  if (kind === null || bytes.length > MEDIA_BYTES_MAX) {
    return {
      content: [text(`The answer is ${bytes.length} bytes of ${type}: call the action over HTTP to have them.`)],
    };
  }
  return { content: [{ type: kind, data: bytes.toString("base64"), mimeType: type }] };
}

/** The text of a completion, and what it cost. */
function chatOf(json: Json): CallToolResult {
  const [choice] = Array.isArray(json.choices) ? json.choices.filter(isRecord) : [];
  const message = isRecord(choice?.message) ? choice.message : {};
  const said = typeof message.content === "string" ? message.content : "";
  const structuredContent = { text: said, model: json.model, finish_reason: choice?.finish_reason, usage: json.usage };
  return { content: [text(said)], structuredContent };
}

async function wholeOf(json: Json, whole: string, leftovers: Leftovers): Promise<CallToolResult> {
  if (whole.length <= TEXT_CHARS_MAX) return { content: [text(whole)], structuredContent: json };
  const continuation = await leftovers.keep(whole.slice(TEXT_CHARS_MAX));
  const { data: _, ...rest } = json;
  const cut = { ...rest, cut: true, characters: whole.length, continuation };
  const next =
    continuation === null
      ? "The rest is too long to be kept: ask for less."
      : `Cut: ask get_result with continuation ${continuation} for the rest.`;
  return { content: [text(whole.slice(0, TEXT_CHARS_MAX)), text(next)], structuredContent: cut };
}

/** What a client is given of an answer. */
export async function resultOf(
  answer: InnerAnswer,
  shows: "chat" | undefined,
  leftovers: Leftovers,
): Promise<CallToolResult> {
  if (answer.status === 0) return failure("request_timeout", LEFT);
  if (!answer.type.includes("json")) return mediaOf(answer);
  const whole = answer.bytes.toString("utf8");
  const json: unknown = whole.length > READ_BYTES_MAX ? {} : JSON.parse(whole);
  if (!isRecord(json)) return { content: [text(whole)] };
  if (answer.status >= 400) return failureOf(json);
  return shows === "chat" ? chatOf(json) : wholeOf(json, whole, leftovers);
}

/** The next part of an answer that was cut. */
export async function continued(id: string, leftovers: Leftovers): Promise<CallToolResult> {
  const rest = await leftovers.take(id);
  if (rest === null) return failure("not_found", `continuation ${id.slice(0, 80)} is not kept: parts are for an hour.`);
  const continuation = rest.length > TEXT_CHARS_MAX ? await leftovers.keep(rest.slice(TEXT_CHARS_MAX)) : null;
  const part = rest.slice(0, TEXT_CHARS_MAX);
  const structuredContent = { cut: continuation !== null, characters: part.length, continuation };
  return { content: [text(part)], structuredContent };
}

/** Arguments that are not what the schema says. */
export function wrongArguments(detail: string): CallToolResult {
  return failure("bad_request", detail);
}
