// Output items of the responses format: text, thoughts and calls, each with its id.
import { isRecord, type Json, parsedJson, wordOf } from "../../../core/json.ts";
import type { ActionBlock, ActionCall, FinishReason } from "../../../core/neutral.ts";
import type { ResponseStatus } from "./response-object.ts";
import type { CalledTool, ResponsesTools } from "./tools.ts";

export type ItemStatus = "in_progress" | "completed" | "incomplete";

export interface ItemParts {
  /** Makes item ids unique to this answer. */
  readonly idTail: string;
  readonly tools: ResponsesTools;
  /** The caller gets sealed thoughts, to send back. */
  readonly seals: boolean;
  readonly shows: boolean;
}

/** The status for each finish reason; an answer that ends with calls is complete. */
export function endOf(reason: FinishReason): { readonly status: ResponseStatus; readonly incomplete?: string } {
  if (reason === "length") return { status: "incomplete", incomplete: "max_output_tokens" };
  if (reason === "content_filter") return { status: "incomplete", incomplete: "content_filter" };
  return { status: "completed" };
}

export function textPart(kind: "text" | "refusal", text: string, annotations: readonly Json[] = []): Json {
  return kind === "text"
    ? { type: "output_text", text, annotations, logprobs: [] }
    : { type: "refusal", refusal: text };
}

export function messageItem(id: string, status: ItemStatus, content: readonly Json[]): Json {
  return { id, type: "message", status, role: "assistant", content };
}

export function reasoningItem(id: string, status: ItemStatus, summary: readonly Json[], sealed: string | null): Json {
  const item: Json = { id, type: "reasoning", status, summary };
  return sealed === null ? item : { ...item, encrypted_content: sealed };
}

/** One argument of a call; undefined if the arguments were truncated or have another form. */
function argumentIn(text: string, name: string): unknown {
  const parsed = parsedJson(text);
  return isRecord(parsed) ? parsed[name] : undefined;
}

/** The input of a custom tool; text that is not such an object is used as it is. */
export function customInput(text: string): string {
  const input = argumentIn(text, "input");
  return typeof input === "string" ? input : text;
}

export function callItem(
  id: string,
  status: ItemStatus,
  { called, callId, text }: { readonly called: CalledTool; readonly callId: string; readonly text: string },
): Json {
  const { custom, name, namespace } = called;
  const extra = custom ? { input: text } : { arguments: text };
  const item: Json = {
    id,
    type: custom ? "custom_tool_call" : "function_call",
    status,
    call_id: callId,
    name,
    ...extra,
  };
  return namespace === null ? item : { ...item, namespace };
}

export function imageItem(id: string, url: string): Json {
  return { id, type: "image_generation_call", status: "completed", result: url.slice(url.indexOf(",") + 1) };
}

/** The gateway's citations; vendors' citations come with passed-through answers. */
export const CITED = "tollgate";

export function annotationOf({ url, title, start, end }: Json): Json {
  return { type: "url_citation", url, title, start_index: start, end_index: end };
}

/** An action is shown as a search if the caller requested that tool, else as a call of our MCP server. */
export function prefixOf({ hosted }: ActionCall): string {
  return hosted === null ? "mcp" : "ws";
}

export function actionItem(id: string, status: ItemStatus, call: ActionCall, done: ActionBlock | null): Json {
  if (call.hosted !== null) {
    const query = wordOf(argumentIn(call.arguments, "query"));
    const sources = (done?.sources ?? []).map(({ url }) => ({ type: "url", url }));
    const ended = done?.ok === false ? "failed" : status;
    return { id, type: "web_search_call", status: ended, action: { type: "search", query, sources } };
  }
  const extra = done === null ? {} : { output: done.ok ? done.output : null, error: done.ok ? null : done.output };
  const { name, arguments: text } = call;
  return {
    id,
    type: "mcp_call",
    status,
    approval_request_id: null,
    server_label: "tollgate",
    name,
    arguments: text,
    output: null,
    error: null,
    ...extra,
  };
}

/** Missing arguments become an empty object. */
export function wholeArguments({ custom }: CalledTool, text: string): string {
  return custom ? customInput(text) : text.trim() === "" ? "{}" : text;
}

// The state of an item while it is written: a message, a thought, a call or an action.

export interface OpenMessage {
  readonly kind: "message";
  readonly id: string;
  readonly content: Json[];
  part: "text" | "refusal";
  text: string;
  annotations: Json[];
}

export interface OpenAction {
  readonly kind: "action";
  readonly id: string;
  readonly action: ActionCall;
}

export interface OpenThought {
  readonly kind: "thought";
  readonly id: string;
  text: string;
}

export interface OpenCall {
  readonly kind: "call";
  readonly id: string;
  readonly at: number;
  readonly callId: string;
  readonly called: CalledTool;
  text: string;
}

/** A call that started while another was open, to be written after it. */
export type WaitingCall = Omit<OpenCall, "kind" | "id">;
