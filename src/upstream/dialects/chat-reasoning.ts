// Reasoning in both directions: how hard a caller wants the model to think, and signed thoughts that travel there and back.
import { isRecord } from "../json-pointer.ts";
import { numberOf, stringOf } from "./chat-request.ts";
import type { ChatBody, ChatMessage } from "./dialect.ts";

export interface ReasoningAsk {
  /** The caller wants none. */
  readonly off: boolean;
  /** `minimal` to `max`; null where only thinking as such was asked for. */
  readonly effort: string | null;
  readonly budgetTokens: number | null;
  /** Think, but do not show it. */
  readonly exclude: boolean;
}

/** Which share of the output a word of effort may spend on thinking. */
const SHARE: Readonly<Record<string, number>> = {
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.95,
  max: 0.95,
};
const SHARE_UNTOLD = 0.5;

/** What `reasoning_effort` or `reasoning: {effort, max_tokens, enabled, exclude}` ask for; null where neither speaks. */
export function reasoningOf(body: ChatBody): ReasoningAsk | null {
  const told = isRecord(body.reasoning) ? body.reasoning : {};
  const effort = stringOf(told.effort) ?? stringOf(body.reasoning_effort) ?? null;
  const budgetTokens = numberOf(told.max_tokens) ?? null;
  const asked = effort !== null || budgetTokens !== null || typeof told.enabled === "boolean";
  if (!asked) return null;
  return {
    off: effort === "none" || told.enabled === false || budgetTokens === 0,
    effort: effort !== null && effort in SHARE ? effort : null,
    budgetTokens,
    exclude: told.exclude === true,
  };
}

/** The tokens that thinking may take out of `outputTokensMax`, at least `min`, and always less than all of it. */
export function budgetOf(ask: ReasoningAsk, outputTokensMax: number, min: number): number {
  const share = SHARE[ask.effort ?? ""] ?? SHARE_UNTOLD;
  const wanted = Math.floor(ask.budgetTokens ?? outputTokensMax * share);
  return Math.min(Math.max(wanted, min), outputTokensMax - 1);
}

/** A thought that its vendor signed, as a follow-up turn must carry it back. */
export interface SignedThought {
  readonly text: string;
  /** The signature of `text`; null where the whole is sealed in `sealed`. */
  readonly signature: string | null;
  readonly sealed: string | null;
  /** The tool call it belongs to, where it belongs to one. */
  readonly callId: string | null;
}

/** An entry of `reasoning_details`, in OpenRouter's form. */
export function detailOf(thought: SignedThought, format: string, index: number): Readonly<Record<string, unknown>> {
  if (thought.sealed !== null) {
    return { type: "reasoning.encrypted", data: thought.sealed, id: thought.callId, format, index };
  }
  return { type: "reasoning.text", text: thought.text, signature: thought.signature, format, index };
}

/**
 * The signed thoughts that an assistant message carries back in `reasoning_details`, as far as `format` is theirs.
 * Fragments of one text, as a client that only concatenates a stream's deltas keeps them, are put together by index.
 */
export function signedThoughtsOf(message: ChatMessage, format: string): SignedThought[] {
  const details = Array.isArray(message.reasoning_details) ? message.reasoning_details : [];
  const thoughts: SignedThought[] = [];
  let fragment: { index: unknown; text: string } = { index: undefined, text: "" };
  for (const detail of details) {
    if (!isRecord(detail) || detail.format !== format) continue;
    if (detail.type === "reasoning.encrypted" && typeof detail.data === "string" && detail.data !== "") {
      thoughts.push({ text: "", signature: null, sealed: detail.data, callId: stringOf(detail.id) ?? null });
    }
    if (detail.type !== "reasoning.text") continue;
    const before = detail.index === fragment.index ? fragment.text : "";
    fragment = { index: detail.index, text: before + (stringOf(detail.text) ?? "") };
    if (typeof detail.signature !== "string" || detail.signature === "") continue;
    thoughts.push({ text: fragment.text, signature: detail.signature, sealed: null, callId: null });
    fragment = { index: undefined, text: "" };
  }
  return thoughts;
}
