// What the messages wire's answers are made of: content blocks, and the words for why they end.
import { isRecord, type Json } from "../../json.ts";
import type { AnswerBlock, FinishReason, ReasoningBlock } from "../../neutral.ts";

/** What of a model's thoughts a client sees. `sealed`: it wants them back, not to read them; `none`: it has not asked for any. */
export type ThoughtsShown = "all" | "sealed" | "none";

/**
 * Clients keep no thought without a signature. This is the one of thoughts that no vendor takes back: their vendor signs none,
 * or they are too long to be carried.
 */
export const UNSIGNED = "tgs0_";

/** The signature of a block is the whole thought under the gateway's seal. */
export function signatureOf({ sealed }: ReasoningBlock): string {
  return sealed ?? UNSIGNED;
}

/** The input of a call; what a model that was cut off has written is none. */
function inputOf(text: string): Json {
  try {
    const input: unknown = JSON.parse(text);
    return isRecord(input) ? input : {};
  } catch {
    return {};
  }
}

function thoughtOf(thought: ReasoningBlock, shown: ThoughtsShown): Json | null {
  if (shown === "none") return null;
  if (thought.sealed !== null && thought.text === "") return { type: "redacted_thinking", data: thought.sealed };
  return { type: "thinking", thinking: shown === "all" ? thought.text : "", signature: signatureOf(thought) };
}

/** A block of an answer; null where this wire has no place for it. */
export function blockOf(block: AnswerBlock, shown: ThoughtsShown): Json | null {
  switch (block.kind) {
    case "text":
    case "refusal":
      return block.text === "" ? null : { type: "text", text: block.text };
    case "reasoning":
      return thoughtOf(block, shown);
    case "tool-call":
      return { type: "tool_use", id: block.id, name: block.name, input: inputOf(block.arguments) };
    case "image":
    case "native":
    case "action":
      return null;
  }
}

const STOP_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
};

/** The wire's own words where the vendor's are more exact than ours. */
const EXACT: readonly string[] = ["stop_sequence", "pause_turn", "model_context_window_exceeded"];

/** Why an answer ended, in the wire's words. Clients run the calls of an answer that ended for them, and of no other. */
function stopReason(
  { reason, native }: { readonly reason: FinishReason; readonly native: string },
  { calls, refused }: { readonly calls: boolean; readonly refused: boolean },
): string {
  if (reason === "stop" && refused) return STOP_REASONS.content_filter;
  if (calls && (reason === "stop" || reason === "tool_calls")) return STOP_REASONS.tool_calls;
  if (EXACT.includes(native)) return native;
  return reason === "tool_calls" ? STOP_REASONS.stop : STOP_REASONS[reason];
}

/** How an answer ended. Vendors of other wires do not tell at which of several strings; at the only one, where there is one. */
export function stopOf(
  end: Parameters<typeof stopReason>[0],
  { calls, refused, stops }: { readonly calls: boolean; readonly refused: boolean; readonly stops: readonly string[] },
): { readonly stop_reason: string; readonly stop_sequence: string | null } {
  const stop_reason = stopReason(end, { calls, refused });
  const [only = null, ...others] = stops;
  return { stop_reason, stop_sequence: stop_reason === "stop_sequence" && others.length === 0 ? only : null };
}
