// What the converse wire says beside the answer: usage in disjoint buckets, why it stopped, errors.

import { isRecord, stringOf } from "../../../core/json.ts";
import type { FinishReason } from "../../../core/neutral.ts";
import type { AttemptFailure, TokenUsage } from "../../../core/route.ts";
import type { ChatContext, VendorError } from "../../../upstream/dialects/dialect.ts";
import { countOf } from "../../../upstream/json-pointer.ts";
import { malformed } from "../../../upstream/vendor-failure.ts";

/** The `format` under which signed thoughts go out and come back. */
export function formatOf(context: ChatContext): string {
  return context.spec.reasoningFormat ?? "converse";
}

const FINISH: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  guardrail_intervened: "content_filter",
  content_filtered: "content_filter",
};

/** The model wrote something that the vendor could not read: there is no answer, whatever came before. */
const BROKEN: readonly string[] = ["malformed_model_output", "malformed_tool_use"];

export function finishOf(stopReason: string): FinishReason {
  return Object.hasOwn(FINISH, stopReason) ? (FINISH[stopReason] ?? "stop") : "stop";
}

/** `inputTokens` does not include cached ones. Null: nothing was counted. */
export function usageOf(usage: unknown): TokenUsage | null {
  if (!isRecord(usage)) return null;
  const inputTokens = countOf(usage.inputTokens);
  const cacheReadTokens = countOf(usage.cacheReadInputTokens);
  const cacheWriteTokens = countOf(usage.cacheWriteInputTokens);
  const outputTokens = countOf(usage.outputTokens);
  if (inputTokens + cacheReadTokens + cacheWriteTokens + outputTokens === 0) return null;
  return { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens: 0 };
}

/** Reads `{message}`, whose first letter some of its servers write large. */
export function converseError(body: unknown): VendorError {
  if (!isRecord(body)) return { words: [], message: typeof body === "string" ? body : "no message" };
  const type = stringOf(body.__type);
  const message = stringOf(body.message) ?? stringOf(body.Message) ?? JSON.stringify(body);
  return { words: type === undefined ? [] : [type.toLowerCase()], message };
}

/** Why an answer that ended like this is none; null where it is one. */
export function failureOf(native: string): AttemptFailure | null {
  return BROKEN.includes(native) ? malformed(`the model's answer cannot be read (${native})`) : null;
}

/** Why an answer gave the caller nothing; null where a filter, its bound on output or a stop of the caller's explains it. */
export function emptiness(native: string): string | null {
  const finish = finishOf(native);
  const isExplained = finish === "length" || finish === "content_filter" || native === "stop_sequence";
  return isExplained ? null : `the answer is empty (${native})`;
}
