// The responses dialect: output items, the events that open, fill and close each of them, and errors as its vendor writes them.
import type { Answer, AnswerUsage, Choice } from "../../../sandbox/answer.ts";
import { CHAT_COMPLETIONS } from "../../../sandbox/conventions.ts";
import { type Dialect, type DialectEvent, type DialectReading, readingOf } from "../../../sandbox/dialect.ts";
import type { Conduct } from "../../../sandbox/faults.ts";
import { type Refusal, refusalWords } from "../../../sandbox/refusals.ts";
import { type ResponsesRequest, readResponsesRequest } from "./strict-request.ts";

const CREATED_S = 1_767_225_600;

function usageOf(usage: AnswerUsage) {
  return {
    input_tokens: usage.promptTokens,
    input_tokens_details: { cached_tokens: usage.cachedTokens, cache_write_tokens: usage.cacheWriteTokens },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.thinkingTokens },
    total_tokens: usage.promptTokens + usage.outputTokens,
  };
}

/** An output item: how it begins, the events that fill it, and how it ends. */
interface OutputItem {
  readonly start: Record<string, unknown>;
  readonly fill: readonly { readonly type: string; readonly more: Record<string, unknown>; readonly tokens: number }[];
  readonly whole: Record<string, unknown>;
}

function reasoningItem(thinking: readonly string[], id: string, { showsSummary, seals }: ResponsesRequest): OutputItem {
  const text = thinking.join("");
  const head = { id: `rs_${id}`, type: "reasoning" };
  const summary = showsSummary ? [{ type: "summary_text", text }] : [];
  const part = { summary_index: 0 };
  const shown = thinking.map((delta) => {
    return { type: "response.reasoning_summary_text.delta", more: { ...part, delta }, tokens: 1 };
  });
  const opening = { type: "response.reasoning_summary_part.added", tokens: 0 };
  return {
    start: { ...head, summary: [], encrypted_content: seals ? "" : null },
    fill: showsSummary ? [{ ...opening, more: { ...part, part: { type: "summary_text", text: "" } } }, ...shown] : [],
    whole: { ...head, summary, encrypted_content: seals ? `sealed-${Buffer.from(text).toString("base64url")}` : null },
  };
}

function messageItem(words: readonly string[], id: string): OutputItem {
  const head = { id: `msg_${id}`, type: "message", role: "assistant" };
  const part = { type: "output_text", text: words.join(""), annotations: [], logprobs: [] };
  return {
    start: { ...head, status: "in_progress", content: [] },
    fill: [
      { type: "response.content_part.added", more: { content_index: 0, part: { ...part, text: "" } }, tokens: 0 },
      ...words.map((delta) => ({ type: "response.output_text.delta", more: { content_index: 0, delta }, tokens: 1 })),
      { type: "response.output_text.done", more: { content_index: 0, text: part.text }, tokens: 0 },
      { type: "response.content_part.done", more: { content_index: 0, part }, tokens: 0 },
    ],
    whole: { ...head, status: "completed", content: [part] },
  };
}

/** What a custom tool is called with is the text itself. */
function customInput(input: unknown): string {
  return typeof input === "object" && input !== null && "input" in input ? String(input.input) : "";
}

function callItem(
  { id, name: key, fragments, input }: Choice["calls"][number],
  { toolNames }: ResponsesRequest,
): OutputItem {
  const { name, namespace, custom } = toolNames.get(key) ?? { name: key, namespace: null, custom: false };
  const named = { call_id: `call_${id}`, name, ...(namespace === null ? {} : { namespace }) };
  if (custom) {
    const head = { id: `ctc_${id}`, type: "custom_tool_call", ...named };
    const text = customInput(input);
    return {
      start: { ...head, status: "in_progress", input: "" },
      fill: [
        { type: "response.custom_tool_call_input.delta", more: { delta: text }, tokens: fragments.length },
        { type: "response.custom_tool_call_input.done", more: { input: text }, tokens: 0 },
      ],
      whole: { ...head, status: "completed", input: text },
    };
  }
  const head = { id: `fc_${id}`, type: "function_call", ...named };
  const text = fragments.join("");
  const delta = "response.function_call_arguments.delta";
  return {
    start: { ...head, status: "in_progress", arguments: "" },
    fill: [
      ...fragments.map((fragment) => ({ type: delta, more: { delta: fragment }, tokens: 1 })),
      { type: "response.function_call_arguments.done", more: { arguments: text }, tokens: 0 },
    ],
    whole: { ...head, status: "completed", arguments: text },
  };
}

function itemsOf(choice: Choice | undefined, request: ResponsesRequest, answer: Answer): OutputItem[] {
  if (choice === undefined) return [];
  return [
    ...(choice.thinking.length > 0 ? [reasoningItem(choice.thinking, answer.id, request)] : []),
    ...(choice.text.length > 0 ? [messageItem(choice.text, answer.id)] : []),
    ...choice.calls.map((call) => callItem(call, request)),
  ];
}

function endingOf(choice: Choice | undefined) {
  if (choice?.finish === "length") return { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } };
  if (choice?.finish !== "content_filter") return { status: "completed", incomplete_details: null };
  return { status: "incomplete", incomplete_details: { reason: "content_filter" } };
}

function whole(request: ResponsesRequest, answer: Answer, conduct: Conduct): Record<string, unknown> {
  const choice = answer.choices[0];
  return {
    id: `resp_${answer.id}`,
    object: "response",
    created_at: CREATED_S,
    model: request.ask.model,
    error: null,
    ...endingOf(choice),
    output: itemsOf(choice, request, answer).map((item) => item.whole),
    usage: conduct.usage === "never" ? null : usageOf(answer.usage),
  };
}

function* events(request: ResponsesRequest, answer: Answer, conduct: Conduct): Generator<DialectEvent> {
  let sequence_number = 0;
  const event = (kind: DialectEvent["kind"], tokens: number, type: string, more: Record<string, unknown>) => {
    return { name: type, data: JSON.stringify({ type, sequence_number: sequence_number++, ...more }), tokens, kind };
  };
  const complete = whole(request, answer, conduct);
  const started = { ...complete, status: "in_progress", incomplete_details: null, output: [], usage: null };
  yield event("preamble", 0, "response.created", { response: started });
  yield event("preamble", 0, "response.in_progress", { response: started });
  for (const [output_index, item] of itemsOf(answer.choices[0], request, answer).entries()) {
    yield event("content", 0, "response.output_item.added", { output_index, item: item.start });
    for (const { type, more, tokens } of item.fill) {
      yield event("content", tokens, type, { item_id: item.start.id, output_index, ...more });
    }
    // Thoughts that are not shown have been thought all the same.
    const unseen = item.start.type === "reasoning" && item.fill.length === 0 ? answer.usage.thinkingTokens : 0;
    yield event("content", unseen, "response.output_item.done", { output_index, item: item.whole });
  }
  yield event("closing", 0, `response.${complete.status}`, { response: complete });
  // The open form of this wire ends as the chat wire does.
  yield { name: null, data: "[DONE]", tokens: 0, kind: "done" };
}

function errorEvent(refusal: Refusal): DialectEvent {
  const { message, type, code } = refusalWords(refusal, "chatCompletions");
  const data = { type: "error", sequence_number: 0, code: code ?? type, message, param: refusal.param ?? null };
  return { name: "error", data: JSON.stringify(data), tokens: 0, kind: "closing" };
}

export const responses: Dialect = {
  ...CHAT_COMPLETIONS,
  path: /\/responses$/,
  read(json): DialectReading | Refusal {
    const request = readResponsesRequest(json);
    if ("kind" in request) return request;
    return readingOf(request.ask, request, { whole, events });
  },
  errorEvent,
};
