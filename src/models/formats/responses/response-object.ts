// The response object, as it stands in a whole answer and in the events that begin and end a stream: every key is always there.
import { isRecord, type Json, numberOf, stringOf } from "../../../core/json.ts";
import type { TokenUsage } from "../../../core/route.ts";
import type { AnswerHead } from "../wire.ts";
import type { ResponsesBody } from "./fields.ts";

export type ResponseStatus = "in_progress" | "completed" | "incomplete" | "failed";

/** What becomes of an answer in time; the rest of its object stays as it is. */
export interface ResponseState {
  readonly status: ResponseStatus;
  readonly output: readonly Json[];
  /** Seconds since the epoch; null: it is not complete. */
  readonly completedS: number | null;
  readonly incomplete?: string;
  readonly error?: Json;
}

/** What was really done with a request, where that may differ from what it says. */
export interface Done {
  /** The answer is kept, and later requests may name it. */
  readonly store: boolean;
  /** The bound on output that the caller asked for; null: none. */
  readonly maxOutputTokens: number | null;
}

/** A function without some of its fields says that it has none. */
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
  const told = isRecord(text) ? text : {};
  const format = isRecord(told.format) ? told.format : { type: "text" };
  return typeof told.verbosity === "string" ? { format, verbosity: told.verbosity } : { format };
}

/** What an answer repeats of its request, with the defaults of what was not said. */
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

/** The whole object, without usage: what was charged is known only at the end. */
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

/** The usage object, whose input tokens include the cached ones. */
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
