// Content blocks and stop reasons of answers in the messages format.
import type { Json } from "../../../core/json.ts";
import type { ActionBlock, ActionCall, FinishReason, ReasoningBlock, Source } from "../../../core/neutral.ts";
import { rawObject } from "../../../core/raw-json.ts";

/** Id prefixes of calls that the gateway ran, so that they are not sent to the vendor as its own. */
const RUN_HERE = { hosted: "srvtoolu_tg", action: "mcptoolu_tg" } as const;

/** True if a body contains calls that the gateway ran. */
export function holdsOurs(bytes: Buffer): boolean {
  return bytes.includes(RUN_HERE.hosted) || bytes.includes(RUN_HERE.action);
}

/** How to show thoughts. `sealed`: without text, only to be sent back; `none`: the client did not request them. */
export type ThoughtsShown = "all" | "sealed" | "none";

/** Marks thoughts that cannot be sent back (unsigned or too long), because clients drop thoughts without a signature. */
export const UNSIGNED = "tgs0_";

/** A block's signature contains the whole thought, sealed by the gateway. */
export function signatureOf({ sealed }: ReasoningBlock): string {
  return sealed ?? UNSIGNED;
}

/** A call's input; empty if it was truncated. */
export function inputOf(text: string): Json {
  return rawObject(text) ?? {};
}

/** The gateway's citations; vendors' citations come with passed-through answers. */
export const CITED = "tollgate";

export function citationOf({ url, title, quote }: Json): Json {
  return { type: "web_search_result_location", url, title, encrypted_index: "", cited_text: quote };
}

/** A gateway id, which separates our calls from the vendor's. */
function idOf({ id, hosted }: ActionCall): string {
  return `${hosted === null ? RUN_HERE.action : RUN_HERE.hosted}_${id.replace(/[^\w-]/g, "")}`;
}

export function actionUse(action: ActionCall): Json {
  const { hosted, name, arguments: text } = action;
  const id = idOf(action);
  if (hosted !== null) return { type: "server_tool_use", id, name: hosted, input: inputOf(text) };
  return { type: "mcp_tool_use", id, name, server_name: "tollgate", input: inputOf(text) };
}

export function actionResult(block: ActionBlock): Json {
  const { hosted, ok, output, sources } = block;
  const tool_use_id = idOf(block);
  if (hosted === null)
    return { type: "mcp_tool_result", tool_use_id, is_error: !ok, content: [{ type: "text", text: output }] };
  const type = `${hosted}_tool_result`;
  if (!ok || (hosted === "web_fetch" && sources.length === 0))
    return { type, tool_use_id, content: { type: `${type}_error`, error_code: "unavailable" } };
  if (hosted === "web_search") return { type, tool_use_id, content: sources.map(searchResult) };
  const [page] = sources;
  return { type, tool_use_id, content: page === undefined ? [] : fetched(page) };
}

function searchResult({ url, title, text }: Source): Json {
  return {
    type: "web_search_result",
    url,
    title,
    encrypted_content: Buffer.from(text).toString("base64"),
    page_age: null,
  };
}

function fetched({ url, title, text }: Source): Json {
  const source = { type: "text", media_type: "text/plain", data: text };
  return { type: "web_fetch_result", url, retrieved_at: null, content: { type: "document", source, title } };
}

const STOP_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
};

/** Native stop reasons of this format that are more exact than ours. */
const EXACT: readonly string[] = ["stop_sequence", "pause_turn", "model_context_window_exceeded"];

/** The stop reason. Clients run calls only if the answer stopped for them. */
function stopReason(
  { reason, native }: { readonly reason: FinishReason; readonly native: string },
  { calls, refused }: { readonly calls: boolean; readonly refused: boolean },
): string {
  if (reason === "stop" && refused) return STOP_REASONS.content_filter;
  if (calls && (reason === "stop" || reason === "tool_calls")) return STOP_REASONS.tool_calls;
  if (EXACT.includes(native)) return native;
  return reason === "tool_calls" ? STOP_REASONS.stop : STOP_REASONS[reason];
}

/** How an answer ended. Vendors of other formats do not report the stop sequence, so it is filled in where there was only one. */
export function stopOf(
  end: Parameters<typeof stopReason>[0],
  { calls, refused, stops }: { readonly calls: boolean; readonly refused: boolean; readonly stops: readonly string[] },
): { readonly stop_reason: string; readonly stop_sequence: string | null } {
  const stop_reason = stopReason(end, { calls, refused });
  const [only = null, ...others] = stops;
  return { stop_reason, stop_sequence: stop_reason === "stop_sequence" && others.length === 0 ? only : null };
}
