// Parses converse answers of vendors, whole and streamed: usage in disjoint buckets, stop reasons, errors.
import { isRecord, type Json, stringOf } from "../../../core/json.ts";
import type { FinishReason } from "../../../core/neutral.ts";
import type { AttemptFailure, TokenUsage } from "../../../core/route.ts";
import type { AnswerReader, ChatContext, EventOut, VendorError } from "../../../upstream/format-kit/dialect.ts";
import { eventJson } from "../../../upstream/format-kit/event-json.ts";
import { OneChoice } from "../../../upstream/format-kit/one-choice.ts";
import { formatOf, OpenBlocks } from "../../../upstream/format-kit/open-blocks.ts";
import { atPointer, countOf } from "../../../upstream/json-pointer.ts";
import { malformed } from "../../../upstream/vendor-failure.ts";

const FINISH: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  guardrail_intervened: "content_filter",
  content_filtered: "content_filter",
};

/** The vendor could not parse the model's output: the answer is void, whatever came before. */
const BROKEN: readonly string[] = ["malformed_model_output", "malformed_tool_use"];

export function finishOf(stopReason: string): FinishReason {
  return Object.hasOwn(FINISH, stopReason) ? (FINISH[stopReason] ?? "stop") : "stop";
}

/** `inputTokens` excludes cached tokens. Null if nothing was counted. */
export function usageOf(usage: unknown): TokenUsage | null {
  if (!isRecord(usage)) return null;
  const inputTokens = countOf(usage.inputTokens);
  const cacheReadTokens = countOf(usage.cacheReadInputTokens);
  const cacheWriteTokens = countOf(usage.cacheWriteInputTokens);
  const outputTokens = countOf(usage.outputTokens);
  if (inputTokens + cacheReadTokens + cacheWriteTokens + outputTokens === 0) return null;
  return { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens: 0 };
}

/** Reads `{message}`; some servers capitalize the key. */
export function converseError(body: unknown): VendorError {
  if (!isRecord(body)) return { words: [], message: typeof body === "string" ? body : "no message" };
  const type = stringOf(body.__type);
  const message = stringOf(body.message) ?? stringOf(body.Message) ?? JSON.stringify(body);
  return { words: type === undefined ? [] : [type.toLowerCase()], message };
}

/** Why an answer with this ending is void; null if it is valid. */
export function failureOf(native: string): AttemptFailure | null {
  return BROKEN.includes(native) ? malformed(`the model's answer cannot be read (${native})`) : null;
}

/** The thought of a whole block, as a delta has it. */
function thoughtIn({ reasoningContent }: Json): unknown {
  return isRecord(reasoningContent) ? (reasoningContent.reasoningText ?? reasoningContent) : undefined;
}

export class ConverseReader implements AnswerReader {
  readonly #out: EventOut;
  readonly #choice: OneChoice;
  readonly #blocks: OpenBlocks;
  #finished = false;

  constructor(context: ChatContext, out: EventOut) {
    this.#out = out;
    this.#choice = new OneChoice(context, out);
    this.#blocks = new OpenBlocks(out, this.#choice, formatOf(context, "converse"));
  }

  event(bytes: Buffer, start: number, end: number, name: string | null): boolean {
    const data = eventJson(bytes, start, end);
    if (data === null) return false;
    this.#read(name, data);
    return true;
  }

  whole(json: unknown): void {
    if (!isRecord(json)) return this.#out.fail(malformed("the answer is no JSON object"));
    const usage = usageOf(json.usage);
    if (usage !== null) this.#out.usage(usage);
    const { content } = (atPointer(json, "/output/message") ?? {}) as Json;
    if (!Array.isArray(content)) return this.#out.fail(malformed("the answer has no content"));
    if (typeof json.stopReason !== "string") return this.#out.fail(malformed("the answer has no stopReason"));
    const failure = failureOf(json.stopReason);
    if (failure !== null) return this.#out.fail(failure);
    for (const [index, block] of content.filter(isRecord).entries()) {
      this.#start(index, block);
      this.#delta(index, { text: block.text, reasoningContent: thoughtIn(block) });
      this.#blocks.close(index);
    }
    this.#finish(json.stopReason);
    this.#out.end();
  }

  #read(name: string | null, data: Json): void {
    switch (name) {
      case "messageStart":
        return this.#choice.begin();
      case "contentBlockStart":
        return this.#start(data.contentBlockIndex ?? 0, isRecord(data.start) ? data.start : {});
      case "contentBlockDelta":
        return this.#delta(data.contentBlockIndex ?? 0, isRecord(data.delta) ? data.delta : {});
      case "contentBlockStop":
        return this.#blocks.close(data.contentBlockIndex ?? 0);
      case "messageStop":
        return this.#finish(stringOf(data.stopReason) ?? "end_turn");
      case "metadata": {
        const usage = usageOf(data.usage);
        if (usage !== null) this.#out.usage(usage);
        if (this.#finished) this.#out.end();
      }
    }
  }

  /** Only calls have a start event; other blocks begin with their first delta. */
  #start(index: unknown, { toolUse }: Json): void {
    if (!isRecord(toolUse)) return;
    this.#choice.call({ key: index, id: toolUse.toolUseId, name: toolUse.name, arguments: toolUse.input ?? {} });
  }

  #delta(index: unknown, { text, toolUse, reasoningContent }: Json): void {
    if (typeof text === "string") this.#choice.say("text", text);
    if (isRecord(toolUse)) this.#choice.callArguments(index, toolUse.input);
    if (isRecord(reasoningContent)) this.#think(index, reasoningContent);
  }

  #think(index: unknown, { text, signature, redactedContent }: Json): void {
    if (typeof redactedContent === "string") return this.#blocks.sealed(redactedContent);
    if (!this.#blocks.has(index)) this.#blocks.openThought(index);
    this.#blocks.think(index, text);
    this.#blocks.sign(index, signature);
  }

  #finish(native: string): void {
    this.#finished = true;
    this.#blocks.closeAll();
    const failure = failureOf(native);
    if (failure !== null) return this.#out.fail(failure);
    this.#choice.finish({ reason: finishOf(native), native });
  }
}
