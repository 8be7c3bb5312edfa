// Reads a whole answer of the messages wire into an OpenAI chat completion.
import type { AttemptFailure } from "../../plan.ts";
import { isRecord } from "../json-pointer.ts";
import { completionOf } from "./chat-completion.ts";
import type { SignedThought } from "./chat-reasoning.ts";
import { stringOf, wordOf } from "./chat-request.ts";
import type { ChatContext, UnaryAnswer } from "./dialect.ts";
import { emptyAnswer, failureInside, finishOf, formatOf, usageOf } from "./messages-wire.ts";

function malformed(message: string): AttemptFailure {
  return { kind: "provider_malformed", status: 200, message, retryAfterMs: null };
}

function thoughtOf(block: Record<string, unknown>): SignedThought | null {
  if (block.type === "redacted_thinking" && typeof block.data === "string") {
    return { text: "", signature: null, sealed: block.data, callId: null };
  }
  if (block.type !== "thinking" || typeof block.signature !== "string" || block.signature === "") return null;
  return { text: stringOf(block.thinking) ?? "", signature: block.signature, sealed: null, callId: null };
}

/** The answer as a `chat.completion`, or why it is none. */
export function messagesAnswer(json: unknown, context: ChatContext): UnaryAnswer {
  if (!isRecord(json)) return malformed("the answer is no JSON object");
  if (json.type === "error" || isRecord(json.error)) return failureInside(json);
  if (!Array.isArray(json.content)) return malformed("the answer has no content");
  const native = stringOf(json.stop_reason);
  if (native === undefined) return malformed("the answer has no stop_reason");
  const blocks = json.content.filter(isRecord);
  const parts = {
    text: blocks.map((block) => (block.type === "text" ? (stringOf(block.text) ?? "") : "")).join(""),
    reasoning: blocks.map((block) => (block.type === "thinking" ? (stringOf(block.thinking) ?? "") : "")).join(""),
    thoughts: blocks.map(thoughtOf).filter((thought) => thought !== null),
    images: [],
    calls: blocks
      .filter((block) => block.type === "tool_use")
      .map((block) => ({
        id: wordOf(block.id),
        name: wordOf(block.name),
        arguments: JSON.stringify(block.input ?? {}),
      })),
    finish: finishOf(native),
    native,
  };
  if (parts.text === "" && parts.reasoning === "" && parts.calls.length === 0) {
    const details = isRecord(json.stop_details) ? json.stop_details : {};
    const failure = emptyAnswer(parts.finish, native, details.explanation);
    if (failure !== null) return failure;
  }
  const usage = isRecord(json.usage) ? usageOf(json.usage) : null;
  return { ...completionOf([{ index: 0, ...parts }], formatOf(context), context), usage, upstreamCostNano: null };
}
