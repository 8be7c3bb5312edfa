// Parses responses answers of vendors, whole and streamed: usage in disjoint buckets, end states, seals, failures.

import { isRecord, type Json, stringOf, wordOf } from "../../../core/json.ts";
import { type FinishReason, type ReasoningBlock, thought } from "../../../core/neutral.ts";
import type { AttemptFailure, TokenUsage } from "../../../core/route.ts";
import { classify } from "../../../upstream/classify.ts";
import type { AnswerReader, ChatContext, EventOut } from "../../../upstream/format-kit/dialect.ts";
import { readError, upstreamCostFrom } from "../../../upstream/format-kit/error-body.ts";
import { eventJson } from "../../../upstream/format-kit/event-json.ts";
import { OneChoice } from "../../../upstream/format-kit/one-choice.ts";
import { formatOf } from "../../../upstream/format-kit/open-blocks.ts";
import { countOf, holdsCount } from "../../../upstream/json-pointer.ts";
import { malformed } from "../../../upstream/vendor-failure.ts";

/** Splits a usage object, whose input tokens include cached ones, into disjoint buckets; null if nothing was counted. */
export function usageOf(usage: unknown): TokenUsage | null {
  if (!isRecord(usage)) return null;
  const input = isRecord(usage.input_tokens_details) ? usage.input_tokens_details : {};
  const output = isRecord(usage.output_tokens_details) ? usage.output_tokens_details : {};
  const prompt = countOf(usage.input_tokens);
  const outputTokens = countOf(usage.output_tokens);
  if (prompt + outputTokens === 0) return null;
  const cacheReadTokens = Math.min(prompt, countOf(input.cached_tokens ?? input.cache_read_input_tokens));
  const written = countOf(input.cache_write_tokens ?? input.cache_creation_input_tokens);
  const cacheWriteTokens = Math.min(prompt - cacheReadTokens, written);
  return {
    inputTokens: prompt - cacheReadTokens - cacheWriteTokens,
    cacheReadTokens,
    cacheWriteTokens,
    outputTokens,
    reasoningTokens: Math.min(outputTokens, countOf(output.reasoning_tokens)),
  };
}

const TOOLS = "tool_usage";

/** Reports counts of the vendor's own tools, which have no price here. */
export function tellUnpriced(response: Json, { unpriced }: ChatContext): void {
  const usage = isRecord(response.usage) ? response.usage : {};
  if (holdsCount(response[TOOLS]) || holdsCount(usage[TOOLS])) unpriced?.(TOOLS);
}

export function endOf(response: Json, hasCalls: boolean): { reason: FinishReason; native: string } | null {
  if (response.status === "completed") return { reason: hasCalls ? "tool_calls" : "stop", native: "completed" };
  if (response.status !== "incomplete") return null;
  const details = isRecord(response.incomplete_details) ? response.incomplete_details : {};
  const native = stringOf(details.reason) ?? "incomplete";
  return { reason: native === "content_filter" ? "content_filter" : "length", native };
}

/** Statuses by error code, for errors inside an answer that itself has status 200. */
const STATUS: Readonly<Record<string, number>> = {
  server_error: 500,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  invalid_prompt: 400,
  invalid_request_error: 400,
  context_length_exceeded: 400,
};

/** Classifies an error inside a 200 answer or a stream as if it had come with its own status. */
export function failureInside(error: unknown): AttemptFailure {
  const read = readError(isRecord(error) ? error : { message: "the vendor failed without a word" });
  const word = read.words.find((one) => Object.hasOwn(STATUS, one));
  return classify(word === undefined ? 500 : (STATUS[word] ?? 500), read, null);
}

/** Separates a reasoning item's id from its seal where the client gets both as one string; ids do not contain it. */
const SEPARATOR = ":";

/** A reasoning item that its vendor accepts back; null without a seal, because answers are not stored at the vendor. */
export function sealOf(item: Json, context: ChatContext): ReasoningBlock | null {
  const encrypted = stringOf(item.encrypted_content) ?? "";
  if (encrypted === "") return null;
  const sealed = `${stringOf(item.id) ?? ""}${SEPARATOR}${encrypted}`;
  return thought({ format: formatOf(context, "responses"), sealed });
}

/** The reasoning item of a returned seal; null if the seal is not ours. */
export function reasoningItem(sealed: string): Json | null {
  const at = sealed.indexOf(SEPARATOR);
  if (at < 0 || at === sealed.length - 1) return null;
  return { type: "reasoning", id: sealed.slice(0, at), summary: [], encrypted_content: sealed.slice(at + 1) };
}

function listOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** The visible part of a thought: its summary, or the full text where the model hides nothing. */
function shownOf(item: Json): string {
  const shown = [...listOf(item.summary), ...listOf(item.content)];
  return shown.map(({ text }) => stringOf(text) ?? "").join("\n\n");
}

export function unended({ status }: Json): AttemptFailure {
  return malformed(`the answer's status is ${wordOf(status) || "missing"}`);
}

export class ResponsesReader implements AnswerReader {
  readonly #out: EventOut;
  readonly #choice: OneChoice;
  readonly #context: ChatContext;
  #hasCalls = false;
  #summaries = 0;
  #over = false;

  constructor(context: ChatContext, out: EventOut) {
    this.#context = context;
    this.#out = out;
    this.#choice = new OneChoice(context, out);
  }

  event(bytes: Buffer, start: number, end: number, name: string | null): boolean {
    const data = eventJson(bytes, start, end);
    // Some vendors of this wire end streams like the chat wire.
    if (data === null) return bytes.toString("utf8", start, end).trim() === "[DONE]";
    if (!this.#over) this.#read(stringOf(data.type) ?? name, data);
    return true;
  }

  whole(json: unknown): void {
    if (!isRecord(json)) return this.#out.fail(malformed("the answer is no JSON object"));
    this.#count(json);
    if (isRecord(json.error)) return this.#fail(json.error);
    if (!Array.isArray(json.output)) return this.#out.fail(malformed("the answer has no output"));
    if (endOf(json, false) === null) return this.#out.fail(unended(json));
    for (const [index, item] of listOf(json.output).entries()) {
      if (item.type === "function_call") this.#openCall(index, item);
      if (item.type === "reasoning") this.#choice.say("reasoning", shownOf(item));
      for (const { type, text, refusal } of item.type === "message" ? listOf(item.content) : []) {
        if (type === "output_text") this.#choice.say("text", text);
        if (type === "refusal") this.#choice.say("refusal", refusal);
      }
      this.#done(index, item);
    }
    this.#end(json);
  }

  #read(type: string | null, data: Json): void {
    const item = isRecord(data.item) ? data.item : {};
    switch (type) {
      case "response.created":
        this.#choice.begin();
        return;
      case "response.output_item.added":
        if (item.type === "function_call") this.#openCall(data.output_index ?? 0, item);
        return;
      case "response.output_text.delta":
        this.#choice.say("text", data.delta);
        return;
      case "response.refusal.delta":
        this.#choice.say("refusal", data.delta);
        return;
      case "response.reasoning_summary_part.added":
        if (this.#summaries++ > 0) this.#choice.say("reasoning", "\n\n");
        return;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        this.#choice.say("reasoning", data.delta);
        return;
      case "response.function_call_arguments.delta":
        this.#choice.callArguments(data.output_index ?? 0, data.delta);
        return;
      case "response.output_item.done":
        this.#done(data.output_index ?? 0, item);
        return;
      case "response.completed":
      case "response.incomplete":
        this.#end(isRecord(data.response) ? data.response : {});
        return;
      case "response.failed":
        this.#fail(isRecord(data.response) ? data.response.error : null);
        return;
      case "error":
        this.#fail(isRecord(data.error) ? data.error : data);
    }
  }

  #openCall(key: unknown, { call_id: id, name, arguments: told }: Json): void {
    this.#hasCalls = true;
    this.#choice.call({ key, id, name, arguments: told });
  }

  #done(index: unknown, item: Json): void {
    if (item.type === "reasoning") this.#sign(item);
    else this.#choice.closeCall(index, item.arguments);
  }

  /** The seal comes last: it is the only part of a thought that a client must send back. */
  #sign(item: Json): void {
    const thought = sealOf(item, this.#context);
    if (thought !== null) this.#choice.sign(thought);
  }

  #count({ usage: told }: Json): void {
    const usage = usageOf(told);
    if (usage !== null) this.#out.usage(usage);
    const costNano = upstreamCostFrom(told, this.#context);
    if (costNano !== null) this.#out.upstreamCost(costNano);
  }

  #end(response: Json): void {
    this.#over = true;
    this.#count(response);
    const end = endOf(response, this.#hasCalls);
    if (end === null) return this.#out.fail(unended(response));
    this.#choice.finish(end);
    this.#out.end();
  }

  #fail(error: unknown): void {
    this.#over = true;
    this.#out.fail(failureInside(error));
  }
}
