// What the messages wire's answers are made of: content blocks, and the words for why they end.
import { isRecord, type Json } from "../../json.ts";
import type { AnswerBlock, FinishReason, ReasoningBlock, ThoughtSeal } from "../../neutral.ts";
import { sealThought } from "./sealed-thoughts.ts";

/** What of a model's thoughts a client sees. `sealed`: it wants them back, not to read them; `none`: it has not asked for any. */
export type ThoughtsShown = "all" | "sealed" | "none";

export interface Sealing {
  readonly shown: ThoughtsShown;
  readonly seal: ThoughtSeal;
}

/** A thought that its vendor has not signed. */
export const UNSIGNED: ReasoningBlock = {
  kind: "reasoning",
  text: "",
  format: null,
  signature: null,
  sealed: null,
  callId: null,
};

/** The signature of a block. A text that the client has is not in it once more. */
export function signatureOf(thought: ReasoningBlock, { shown, seal }: Sealing): string {
  return sealThought(shown === "all" && thought.text !== "" ? { ...thought, text: "" } : thought, seal);
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

function thoughtOf(thought: ReasoningBlock, sealing: Sealing): Json | null {
  if (sealing.shown === "none") return null;
  if (thought.sealed !== null && thought.text === "")
    return { type: "redacted_thinking", data: sealThought(thought, sealing.seal) };
  const thinking = sealing.shown === "all" ? thought.text : "";
  return { type: "thinking", thinking, signature: signatureOf(thought, sealing) };
}

/** A block of an answer; null where this wire has no place for it. */
export function blockOf(block: AnswerBlock, sealing: Sealing): Json | null {
  switch (block.kind) {
    case "text":
    case "refusal":
      return block.text === "" ? null : { type: "text", text: block.text, citations: null };
    case "reasoning":
      return thoughtOf(block, sealing);
    case "tool-call":
      return { type: "tool_use", id: block.id, name: block.name, input: inputOf(block.arguments) };
    case "image":
    case "native":
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
export function stopReason(
  { reason, native }: { readonly reason: FinishReason; readonly native: string },
  { calls, refused }: { readonly calls: boolean; readonly refused: boolean },
): string {
  if (reason === "stop" && refused) return STOP_REASONS.content_filter;
  if (calls && (reason === "stop" || reason === "tool_calls")) return STOP_REASONS.tool_calls;
  if (EXACT.includes(native)) return native;
  return reason === "tool_calls" ? STOP_REASONS.stop : STOP_REASONS[reason];
}
