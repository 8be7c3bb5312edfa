// Parses messages answers of vendors, whole and streamed: usage in disjoint buckets, stop reasons, errors.
import { isRecord, type Json, stringOf } from "../../../core/json.ts";
import type { FinishReason } from "../../../core/neutral.ts";
import type { AttemptFailure, TokenUsage } from "../../../core/route.ts";
import { classify } from "../../../upstream/classify.ts";
import type { AnswerReader, ChatContext, EventOut, VendorError } from "../../../upstream/format-kit/dialect.ts";
import { eventJson } from "../../../upstream/format-kit/event-json.ts";
import { OneChoice } from "../../../upstream/format-kit/one-choice.ts";
import { formatOf, OpenBlocks } from "../../../upstream/format-kit/open-blocks.ts";
import { countOf, holdsCount } from "../../../upstream/json-pointer.ts";
import { malformed } from "../../../upstream/vendor-failure.ts";

const FINISH: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  refusal: "content_filter",
};

/** The wire's stop reason in OpenAI's terms; unknown reasons become a plain stop. */
export function finishOf(stopReason: string): FinishReason {
  return Object.hasOwn(FINISH, stopReason) ? (FINISH[stopReason] ?? "stop") : "stop";
}

/** The usage counters that ours has fields for. */
export const COUNTS: readonly string[] = [
  "input_tokens",
  "cache_read_input_tokens",
  "cache_creation_input_tokens",
  "output_tokens",
  "output_tokens_details",
];

/** Extra passes that a vendor ran unasked, with this or another model; the top-level sums exclude them. */
const PASSES = "iterations";
const SERVER_TOOLS = "server_tool_use";
const BUCKETS = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"];

function passesOf(usage: Json): readonly Json[] {
  const passes = usage[PASSES];
  return Array.isArray(passes) ? passes.filter(isRecord) : [];
}

/** Usage including all passes, where their sum exceeds the top-level counts. */
function withPasses(usage: Json): Json {
  const passes = passesOf(usage);
  if (passes.length === 0) return usage;
  const sums = BUCKETS.map((name) => {
    const sum = passes.reduce((total, pass) => total + countOf(pass[name]), 0);
    return [name, Math.max(sum, countOf(usage[name]))];
  });
  return { ...usage, ...Object.fromEntries(sums) };
}

export function tellUnpriced(usage: Json, { unpriced }: ChatContext): void {
  if (holdsCount(usage[SERVER_TOOLS])) unpriced?.(SERVER_TOOLS);
  if (passesOf(usage).some(({ type }) => type !== "message")) unpriced?.(PASSES);
}

/** Merges usage: counts are cumulative, and later events have only some of them. `input_tokens` excludes cached tokens. */
export function mergeUsage(known: Json, usage: unknown): Json {
  if (!isRecord(usage)) return known;
  const told = [...COUNTS, PASSES, SERVER_TOOLS].filter((name) => usage[name] !== undefined && usage[name] !== null);
  return { ...known, ...Object.fromEntries(told.map((name) => [name, usage[name]])) };
}

/** Usage in disjoint buckets; null if nothing was counted. */
export function usageOf(told: Json): TokenUsage | null {
  const usage = withPasses(told);
  const details = isRecord(usage.output_tokens_details) ? usage.output_tokens_details : {};
  const inputTokens = countOf(usage.input_tokens);
  const cacheReadTokens = countOf(usage.cache_read_input_tokens);
  const cacheWriteTokens = countOf(usage.cache_creation_input_tokens);
  const outputTokens = countOf(usage.output_tokens);
  if (inputTokens + cacheReadTokens + cacheWriteTokens + outputTokens === 0) return null;
  const reasoningTokens = Math.min(outputTokens, countOf(details.thinking_tokens));
  return { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens };
}

/** Statuses by error type, for errors inside a stream, which itself has status 200. */
const STATUS: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

/** Reads `{type: "error", error: {type, message}}`. */
export function messagesError(body: unknown): VendorError {
  if (!isRecord(body)) return { words: [], message: typeof body === "string" ? body : "no message" };
  const error = isRecord(body.error) ? body.error : body;
  const type = stringOf(error.type);
  const message = stringOf(error.message) ?? JSON.stringify(error);
  const words = type === undefined ? [] : [type.toLowerCase()];
  // Prompt plus output limit exceed the context; the format has no error type for this.
  if (/exceed context limit/i.test(message)) words.push("context_length_exceeded");
  return { words, message };
}

/** Classifies an error inside a 200 answer or a stream as if it had come with its own status. */
export function failureInside(body: unknown): AttemptFailure {
  const error = messagesError(body);
  return classify(STATUS[error.words[0] ?? ""] ?? 200, error, null);
}

/** The vendor's explanation of a refusal; undefined if it gave none. */
export function explanationOf(json: Json): string | undefined {
  return isRecord(json.stop_details) ? stringOf(json.stop_details.explanation) : undefined;
}

export class MessagesReader implements AnswerReader {
  readonly #out: EventOut;
  readonly #choice: OneChoice;
  readonly #blocks: OpenBlocks;
  #usage: Json = {};

  constructor(context: ChatContext, out: EventOut) {
    this.#out = out;
    this.#choice = new OneChoice(context, out);
    this.#blocks = new OpenBlocks(out, this.#choice, formatOf(context, "messages"));
  }

  event(bytes: Buffer, start: number, end: number, name: string | null): boolean {
    const data = eventJson(bytes, start, end);
    if (data === null) return false;
    this.#read(stringOf(data.type) ?? name, data);
    return true;
  }

  /** A whole block is the start of one that nothing is added to. */
  whole(json: unknown): void {
    if (!isRecord(json)) return this.#out.fail(malformed("the answer is no JSON object"));
    this.#count(json.usage);
    if (json.type === "error" || isRecord(json.error)) return this.#out.fail(failureInside(json));
    if (!Array.isArray(json.content)) return this.#out.fail(malformed("the answer has no content"));
    if (typeof json.stop_reason !== "string") return this.#out.fail(malformed("the answer has no stop_reason"));
    for (const [index, block] of json.content.filter(isRecord).entries()) {
      this.#start(index, block, "arguments");
      this.#blocks.close(index);
    }
    this.#finish(json);
    this.#out.end();
  }

  /** Ignores events of unknown types, including `ping`. */
  #read(type: string | null, data: Json): void {
    switch (type) {
      case "message_start":
        this.#count(isRecord(data.message) ? data.message.usage : null);
        this.#choice.begin();
        return;
      case "content_block_start":
        this.#start(data.index ?? 0, isRecord(data.content_block) ? data.content_block : {});
        return;
      case "content_block_delta":
        this.#delta(data.index ?? 0, isRecord(data.delta) ? data.delta : {});
        return;
      case "content_block_stop":
        this.#blocks.close(data.index ?? 0);
        return;
      case "message_delta":
        this.#count(data.usage);
        this.#finish(isRecord(data.delta) ? data.delta : {});
        return;
      case "message_stop":
        this.#out.end();
        return;
      case "error":
        this.#out.fail(failureInside(data));
    }
  }

  #count(usage: unknown): void {
    this.#usage = mergeUsage(this.#usage, usage);
    const counted = usageOf(this.#usage);
    if (counted !== null) this.#out.usage(counted);
  }

  /** `input`: what the block's input is; in a stream, fragments may replace it. */
  #start(index: unknown, block: Json, input: "arguments" | "whole" = "whole"): void {
    switch (block.type) {
      case "text":
        this.#blocks.openOther(index);
        this.#choice.say("text", block.text);
        return;
      case "thinking":
        this.#blocks.openThought(index, stringOf(block.signature));
        this.#blocks.think(index, block.thinking);
        return;
      case "redacted_thinking":
        this.#blocks.sealed(block.data);
        return;
      case "tool_use":
        this.#choice.call({ key: index, id: block.id, name: block.name, [input]: block.input ?? {} });
    }
  }

  #delta(index: unknown, delta: Json): void {
    switch (delta.type) {
      case "text_delta":
        return this.#choice.say("text", delta.text);
      case "thinking_delta":
        return this.#blocks.think(index, delta.thinking);
      case "signature_delta":
        return this.#blocks.sign(index, delta.signature);
      case "input_json_delta":
        return this.#choice.callArguments(index, delta.partial_json);
    }
  }

  #finish(delta: Json): void {
    const native = delta.stop_reason;
    if (typeof native !== "string") return;
    this.#blocks.closeAll();
    const finish = finishOf(native);
    if (finish === "content_filter" && !this.#choice.delivered) this.#choice.say("refusal", explanationOf(delta));
    this.#choice.finish({ reason: finish, native });
  }
}
