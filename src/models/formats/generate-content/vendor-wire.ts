// What the generate-content wire says beside the answer: usage in disjoint buckets, why it stopped, errors.

import { isRecord, type Json, stringOf } from "../../../core/json.ts";
import type { FinishReason } from "../../../core/neutral.ts";
import type { AttemptFailure, TokenUsage } from "../../../core/route.ts";
import { classify } from "../../../upstream/classify.ts";
import type { ChatContext } from "../../../upstream/dialects/dialect.ts";
import { generateContentError } from "../../../upstream/dialects/error-body.ts";
import { countOf } from "../../../upstream/json-pointer.ts";

/** The `format` under which this vendor's signed thoughts go out and come back. */
export function formatOf(context: ChatContext): string {
  return context.spec.reasoningFormat ?? "generate-content";
}

/** The disjoint buckets: the prompt includes what was read from the cache, the candidates exclude the thoughts. */
export function usageOf(usage: unknown): TokenUsage | null {
  if (!isRecord(usage)) return null;
  const prompt = countOf(usage.promptTokenCount) + countOf(usage.toolUsePromptTokenCount);
  const cacheReadTokens = Math.min(prompt, countOf(usage.cachedContentTokenCount));
  const reasoningTokens = countOf(usage.thoughtsTokenCount);
  const outputTokens = countOf(usage.candidatesTokenCount) + reasoningTokens;
  if (prompt + outputTokens === 0) return null;
  return { inputTokens: prompt - cacheReadTokens, cacheReadTokens, cacheWriteTokens: 0, outputTokens, reasoningTokens };
}

const FINISH: ReadonlyMap<string, FinishReason> = new Map([
  ["STOP", "stop"],
  ["MAX_TOKENS", "length"],
  ["SAFETY", "content_filter"],
  ["RECITATION", "content_filter"],
  ["LANGUAGE", "content_filter"],
  ["BLOCKLIST", "content_filter"],
  ["PROHIBITED_CONTENT", "content_filter"],
  ["SPII", "content_filter"],
  ["IMAGE_SAFETY", "content_filter"],
  ["IMAGE_PROHIBITED_CONTENT", "content_filter"],
  ["IMAGE_RECITATION", "content_filter"],
]);

/** The model wrote something that the vendor could not read: there is no answer, whatever came before. */
const BROKEN = [
  "MALFORMED_FUNCTION_CALL",
  "MALFORMED_RESPONSE",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
  "MISSING_THOUGHT_SIGNATURE",
];

function failure(kind: AttemptFailure["kind"], message: string): AttemptFailure {
  return { kind, status: 200, message, retryAfterMs: null };
}

export function malformed(message: string): AttemptFailure {
  return failure("provider_malformed", message);
}

/** The wire's reason to finish, or null while there is none. */
export function finishReasonOf(candidate: Json): string | null {
  const native = candidate.finishReason;
  return typeof native === "string" && native !== "" && native !== "FINISH_REASON_UNSPECIFIED" ? native : null;
}

/** What a candidate has given by its end. */
interface Given {
  readonly anything: boolean;
  readonly calls: boolean;
  readonly mayBeEmpty: boolean;
}

/**
 * How a candidate ended, in OpenAI's words, or why its answer is none. A reason that we do not know, such as `OTHER`,
 * is an answer cut short: the caller is told that it is not whole.
 */
export function endingOf(native: string, candidate: Json, given: Given): FinishReason | AttemptFailure {
  const why = [native, stringOf(candidate.finishMessage)].filter(Boolean).join(": ");
  if (BROKEN.includes(native)) return malformed(`the model's answer could not be read (${why})`);
  const finish = FINISH.get(native);
  if (finish === "stop" && given.calls) return "tool_calls";
  return finish ?? "content_filter";
}

/** Why an answer that ended so gave the caller nothing; null where its ending, or the caller, explains it. */
export function emptiness(reason: FinishReason, native: string, given: Given): string | null {
  return reason !== "stop" || given.anything || given.mayBeEmpty ? null : `the answer is empty (${native})`;
}

/** Why the prompt of an event or a body without candidates was blocked; null where it was not. The vendor counts its tokens. */
export function blockedPrompt(json: Json): string | null {
  if (Array.isArray(json.candidates) && json.candidates.length > 0) return null;
  const reason = isRecord(json.promptFeedback) ? json.promptFeedback.blockReason : undefined;
  return typeof reason !== "string" || reason === "" ? null : reason;
}

/** Classifies an error that came inside a good answer or a stream, as if it had come with the status it names. */
export function failureInside(body: Json): AttemptFailure {
  const code = isRecord(body.error) ? body.error.code : undefined;
  const status = typeof code === "number" && code >= 400 && code < 600 ? code : 200;
  return classify(status, generateContentError(body), null);
}
