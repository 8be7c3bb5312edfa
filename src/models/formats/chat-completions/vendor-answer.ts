// Parses chat-completions answers of vendors: whole answers, usage in disjoint buckets, reported cost, signed thoughts.

import { isRecord, type Json, stringOf } from "../../../core/json.ts";
import { type FinishReason, type ReasoningBlock, thought } from "../../../core/neutral.ts";
import type { TokenUsage } from "../../../core/route.ts";
import type { ChatContext } from "../../../upstream/format-kit/dialect.ts";
import { upstreamCostFrom } from "../../../upstream/format-kit/error-body.ts";
import { formatOf } from "../../../upstream/format-kit/open-blocks.ts";
import { atPointer, countOf, lastAt } from "../../../upstream/json-pointer.ts";

const USAGE_AT = ["/usage"];
const CACHE_READ_AT = ["/prompt_tokens_details/cached_tokens"];
const CACHE_WRITE_AT = ["/prompt_tokens_details/cache_write_tokens"];

/** Splits an OpenAI-style usage object, whose prompt tokens include cached ones, into disjoint buckets. */
function usageFrom(usage: unknown, context: ChatContext): TokenUsage | null {
  if (!isRecord(usage)) return null;
  const { spec } = context;
  const prompt = countOf(usage.prompt_tokens);
  const cacheReadTokens = Math.min(prompt, countOf(lastAt(usage, spec.cacheReadAt ?? CACHE_READ_AT)));
  const cacheWriteTokens = Math.min(prompt - cacheReadTokens, countOf(lastAt(usage, CACHE_WRITE_AT)));
  const reasoningTokens = countOf(atPointer(usage, "/completion_tokens_details/reasoning_tokens"));
  const told = countOf(usage.completion_tokens);
  // The total shows whether reasoning tokens were really counted in addition.
  const outside = spec.reasoningOutside === true && countOf(usage.total_tokens) !== prompt + told;
  const completion = told + (outside ? reasoningTokens : 0);
  if (prompt === 0 && completion === 0) return null;
  return {
    inputTokens: prompt - cacheReadTokens - cacheWriteTokens,
    cacheReadTokens,
    cacheWriteTokens,
    outputTokens: completion,
    reasoningTokens: Math.min(completion, reasoningTokens),
  };
}

/** The last non-null usage in an answer or a chunk. */
export function readUsage(json: unknown, context: ChatContext) {
  const found = lastAt(json, context.spec.usageAt ?? USAGE_AT);
  return { usage: usageFrom(found, context), upstreamCostNano: upstreamCostFrom(found, context) };
}

const FINISH: ReadonlyMap<string, FinishReason> = new Map([
  ["stop", "stop"],
  ["length", "length"],
  ["tool_calls", "tool_calls"],
  ["function_call", "tool_calls"],
  ["content_filter", "content_filter"],
]);

/** Maps the wire's finish reason; unknown reasons become a plain stop. */
export function finishOf(reason: string): FinishReason {
  return FINISH.get(reason) ?? "stop";
}

/** The reasoning text: vendors use one of two field names, and one puts it among the content parts. */
export function reasoningText(said: Json): string {
  return stringOf(said.reasoning) || stringOf(said.reasoning_content) || partsOf(said.content, "thinking");
}

/** Sets both field names for the reasoning text, in place, because clients read one or the other. */
export function nameThoughts(said: Json): void {
  const { reasoning, reasoning_content: content } = said;
  if (typeof reasoning === "string" && reasoning !== "") said.reasoning_content ??= reasoning;
  else if (typeof content === "string" && content !== "") said.reasoning = content;
}

export function contentText(said: Json): string {
  return stringOf(said.content) ?? partsOf(said.content, "text");
}

/** The text of all parts of one type; parts may be nested. */
function partsOf(content: unknown, type: "text" | "thinking"): string {
  if (!Array.isArray(content)) return "";
  const own = content.filter(isRecord).filter((part) => part.type === type);
  return own.map((part) => stringOf(part[type]) ?? partsOf(part[type], "text")).join("");
}

/** An entry of `reasoning_details` in OpenRouter's form; null if its vendor would not accept it back. */
export function sealOf(detail: unknown, context: ChatContext): ReasoningBlock | null {
  if (!isRecord(detail)) return null;
  const format = stringOf(detail.format) ?? formatOf(context, "chat-completions");
  if (detail.type === "reasoning.encrypted" && typeof detail.data === "string" && detail.data !== "")
    return thought({ format, sealed: detail.data, callId: stringOf(detail.id) ?? null });
  const signature = stringOf(detail.signature) ?? "";
  if (detail.type !== "reasoning.text" || signature === "") return null;
  return thought({ format, text: stringOf(detail.text) ?? "", signature });
}

/** An image that a model made, in OpenRouter's form; null if it is not one. */
export function imageUrl(image: unknown): string | null {
  const url = atPointer(image, "/image_url/url");
  return typeof url === "string" ? url : null;
}

/** The vendor stopped without any output; another candidate may do better. */
export const EMPTY = "the answer is empty";
