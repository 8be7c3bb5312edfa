// The response object of whole answers and of a stream's first and last events; every key is always present.
import { isRecord, type Json, numberOf, stringOf } from "../../../core/json.ts";
import type { TokenUsage } from "../../../core/route.ts";
import type { AnswerHead } from "../wire.ts";
import type { ResponsesBody } from "./fields.ts";

export type ResponseStatus = "in_progress" | "completed" | "incomplete" | "failed";

/** The fields that change while an answer is written. */
export interface ResponseState {
  readonly status: ResponseStatus;
  readonly output: readonly Json[];
  /** Seconds since the epoch; null: not complete. */
  readonly completedS: number | null;
  readonly incomplete?: string;
  readonly error?: Json;
}

/** Settings that may differ from the request. */
export interface Done {
  readonly store: boolean;
  /** The caller's output limit; null: none. */
  readonly maxOutputTokens: number | null;
}

/** Missing fields of a function become null. */
function toolEcho(tool: unknown): unknown {
  if (!isRecord(tool) || tool.type !== "function") return tool;
  return {
    ...tool,
    description: tool.description ?? null,
    parameters: tool.parameters ?? null,
    strict: tool.strict ?? null,
  };
}

function reasoningEcho({ reasoning }: ResponsesBody): Json | null {
  if (!isRecord(reasoning)) return null;
  return { effort: stringOf(reasoning.effort) ?? null, summary: stringOf(reasoning.summary) ?? null };
}

function textEcho({ text }: ResponsesBody): Json {
  const given = isRecord(text) ? text : {};
  const format = isRecord(given.format) ? given.format : { type: "text" };
  return typeof given.verbosity === "string" ? { format, verbosity: given.verbosity } : { format };
}

/** The request fields that an answer repeats, with defaults. */
export function echoOf(body: ResponsesBody, { store, maxOutputTokens }: Done): Json {
  return {
    instructions: stringOf(body.instructions) ?? null,
    previous_response_id: stringOf(body.previous_response_id) ?? null,
    tools: Array.isArray(body.tools) ? body.tools.map(toolEcho) : [],
    tool_choice: body.tool_choice ?? "auto",
    parallel_tool_calls: body.parallel_tool_calls !== false,
    truncation: stringOf(body.truncation) ?? "disabled",
    text: textEcho(body),
    temperature: numberOf(body.temperature) ?? 1,
    top_p: numberOf(body.top_p) ?? 1,
    presence_penalty: numberOf(body.presence_penalty) ?? 0,
    frequency_penalty: numberOf(body.frequency_penalty) ?? 0,
    top_logprobs: numberOf(body.top_logprobs) ?? 0,
    reasoning: reasoningEcho(body),
    max_output_tokens: maxOutputTokens,
    max_tool_calls: numberOf(body.max_tool_calls) ?? null,
    store,
    background: false,
    service_tier: "default",
    metadata: isRecord(body.metadata) ? body.metadata : {},
    user: stringOf(body.user) ?? null,
    safety_identifier: stringOf(body.safety_identifier) ?? null,
    prompt_cache_key: stringOf(body.prompt_cache_key) ?? null,
  };
}

/** The whole object, without usage, which is known only at the end. */
export function responseObject(head: AnswerHead, echo: Json, state: ResponseState): Json {
  return {
    id: head.id,
    object: "response",
    created_at: head.createdS,
    completed_at: state.completedS,
    status: state.status,
    incomplete_details: state.incomplete === undefined ? null : { reason: state.incomplete },
    error: state.error ?? null,
    model: head.model,
    ...echo,
    output: state.output,
    usage: null,
  };
}

/** The usage object, whose input tokens include cached ones. */
export function usageJson(usage: TokenUsage): Json {
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens } = usage;
  const input = inputTokens + cacheReadTokens + cacheWriteTokens;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cacheReadTokens, cache_write_tokens: cacheWriteTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: input + outputTokens,
  };
}
