// Encodes neutral answers in the chat completions format (events as chunks, a whole answer as a completion), and frames them with the charge.

import type { GatewayError } from "../../../core/errors.ts";
import { defined, isRecord, type Json, listOf } from "../../../core/json.ts";
import type {
  AnswerBlock,
  AnswerCodec,
  AnswerText,
  EventEncoder,
  NeutralAnswer,
  NeutralChoice,
  NeutralEvent,
  ReasoningBlock,
} from "../../../core/neutral.ts";
import type { Charge, Cost } from "../../../core/plan.ts";
import { jsonText } from "../../../core/raw-json.ts";
import type { FinalPart, Leg, TokenUsage } from "../../../core/route.ts";
import { actionJson } from "../action-events.ts";
import { AnswerFrame, costJson, type FrameOptions } from "../answer-head.ts";
import { errorObject } from "../error-object.ts";
import type { AnswerHead } from "../wire.ts";

const NOTHING = Buffer.alloc(0);

/** An entry of `reasoning_details`, in OpenRouter's form. */
export function detailOf({ text, signature, sealed, callId, format }: ReasoningBlock, index: number): Json {
  if (sealed !== null) return { type: "reasoning.encrypted", data: sealed, id: callId, format, index };
  return { type: "reasoning.text", text, signature, format, index };
}

/** An image that a model made, in OpenRouter's form. */
function imageOf(url: string, index: number): Json {
  return { type: "image_url", index, image_url: { url } };
}

function unfinished(index: number, delta: Json): Json {
  return { index, delta, finish_reason: null };
}

/** A choice of a chunk; null: the format cannot express the event. */
function choiceOf(event: NeutralEvent): Json | null {
  const { choice: index } = event;
  switch (event.kind) {
    case "begin":
      return unfinished(index, { role: "assistant", content: "" });
    case "text":
      return unfinished(index, { content: event.text });
    case "reasoning":
      return unfinished(index, { reasoning: event.text, reasoning_content: event.text });
    case "refusal":
      return unfinished(index, { refusal: event.text });
    case "thought":
      return unfinished(index, { reasoning_details: [detailOf(event.thought, event.at)] });
    case "tool-call": {
      const { at, id, name, arguments: text } = event;
      return unfinished(index, {
        tool_calls: [{ index: at, id, type: "function", function: { name, arguments: text } }],
      });
    }
    case "tool-arguments":
      return unfinished(index, { tool_calls: [{ index: event.at, function: { arguments: event.text } }] });
    case "image":
      return unfinished(index, { images: [imageOf(event.url, event.at)] });
    case "action-begun":
    case "action-done":
      return unfinished(index, {});
    case "finish":
      return { index, delta: {}, finish_reason: event.reason, native_finish_reason: event.native };
    case "citation":
      return event.format === CITED ? unfinished(index, { annotations: [annotationOf(event.json)] }) : null;
    case "native":
      return null;
  }
}

/** The gateway's citations; the format cannot express those of vendors. */
const CITED = "tollgate";

function annotationOf({ url, title, quote, start, end }: Json): Json {
  const cited = { url, title, content: quote, start_index: start, end_index: end };
  return { type: "url_citation", url_citation: cited };
}

function annotationsOf(blocks: readonly AnswerBlock[]): readonly Json[] {
  const citations = blocks.flatMap((block) => (block.kind === "text" ? block.citations : []));
  return citations.flatMap(({ format, json }) => (format === CITED ? [annotationOf(json)] : []));
}

/** An action between two rounds, attached to an empty delta that clients ignore. */
function actionText(event: NeutralEvent): string {
  if (event.kind !== "action-begun" && event.kind !== "action-done") return "";
  return `,"tollgate":${jsonText({ action: actionJson(event) })}`;
}

function of<K extends AnswerBlock["kind"]>(blocks: readonly AnswerBlock[], kind: K) {
  return blocks.filter((block): block is Extract<AnswerBlock, { kind: K }> => block.kind === kind);
}

function textOf(blocks: readonly AnswerBlock[], kind: "text" | "refusal" | "reasoning"): string {
  return blocks.map((block) => (block.kind === kind && "text" in block ? block.text : "")).join("");
}

function messageOf({ blocks }: NeutralChoice): Json {
  const [text, refusal, reasoning] = [textOf(blocks, "text"), textOf(blocks, "refusal"), textOf(blocks, "reasoning")];
  const thoughts = of(blocks, "reasoning").filter(({ signature, sealed }) => signature !== null || sealed !== null);
  const images = of(blocks, "image");
  const calls = of(blocks, "tool-call");
  const annotations = annotationsOf(blocks);
  return defined({
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    refusal: refusal === "" ? null : refusal,
    reasoning: reasoning === "" ? undefined : reasoning,
    reasoning_content: reasoning === "" ? undefined : reasoning,
    reasoning_details: thoughts.length > 0 ? thoughts.map(detailOf) : undefined,
    annotations: annotations.length > 0 ? annotations : undefined,
    images: images.length > 0 ? images.map(({ url }, at) => imageOf(url, at)) : undefined,
    tool_calls:
      calls.length > 0
        ? calls.map(({ id, name, arguments: text }) => {
            return { id, type: "function", function: { name, arguments: text || "{}" } };
          })
        : undefined,
  });
}

class ChatAnswers implements AnswerCodec, EventEncoder {
  readonly #head: AnswerHead;
  /** The start of every chunk. Built on first use: most answers are passed through without it. */
  #opening = "";

  constructor(head: AnswerHead) {
    this.#head = head;
  }

  encoder(): EventEncoder {
    return this;
  }

  encode(event: NeutralEvent): Buffer {
    const choice = choiceOf(event);
    if (choice === null) return NOTHING;
    if (this.#opening === "") this.#opening = this.#open();
    return Buffer.from(`${this.#opening}${JSON.stringify(choice)}]${actionText(event)}}\n\n`);
  }

  #open(): string {
    const { id, createdS, model } = this.#head;
    const chunk = JSON.stringify({ id, object: "chat.completion.chunk", created: createdS, model });
    return `data: ${chunk.slice(0, -1)},"choices":[`;
  }

  texts(body: Json): readonly AnswerText[] {
    return (Array.isArray(body.choices) ? body.choices : []).flatMap((choice: unknown) => {
      if (!isRecord(choice) || choice.finish_reason !== "stop" || !isRecord(choice.message)) return [];
      const { message } = choice;
      if (typeof message.content !== "string" || message.refusal || listOf(message.tool_calls).length > 0) return [];
      return [{ text: message.content, put: (text: string) => void Object.assign(message, { content: text }) }];
    });
  }

  whole({ choices }: NeutralAnswer): Json {
    const { id, createdS, model } = this.#head;
    return {
      id,
      object: "chat.completion",
      created: createdS,
      model,
      choices: choices.map((choice) => ({
        index: choice.index,
        message: messageOf(choice),
        logprobs: null,
        finish_reason: choice.reason,
        native_finish_reason: choice.native,
      })),
    };
  }
}

export function chatAnswers(head: AnswerHead): AnswerCodec {
  return new ChatAnswers(head);
}

interface ChatFrameOptions extends FrameOptions {
  readonly completionId: string;
  readonly createdS: number;
  readonly includeUsage: boolean;
}

const DONE = Buffer.from("data: [DONE]\n\n");

export function usageJson(usage: TokenUsage): Record<string, unknown> {
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens } = usage;
  const prompt = inputTokens + cacheReadTokens + cacheWriteTokens;
  return {
    prompt_tokens: prompt,
    completion_tokens: outputTokens,
    total_tokens: prompt + outputTokens,
    prompt_tokens_details: { cached_tokens: cacheReadTokens, cache_write_tokens: cacheWriteTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  };
}

export class ChatFrame extends AnswerFrame<ChatFrameOptions> {
  last(final: FinalPart, cost: Cost, charge: Charge, attempts: readonly Leg[]): Uint8Array | string {
    const { includeUsage, trace } = this.options;
    if (final.kind === "body") {
      const { body } = final;
      if (cost.usage !== null) body.usage = { ...usageJson(cost.usage), ...costJson(charge, cost) };
      return JSON.stringify(Object.assign(body, this.trace(attempts, charge)));
    }
    const told = includeUsage ? cost.usage : null;
    const usage = told === null ? null : { usage: { ...usageJson(told), ...costJson(charge, cost) } };
    if (usage === null && !trace) return Buffer.concat([final.tail, DONE]);
    const chunk = { ...this.#chunk(attempts), choices: [], ...usage, ...this.trace(attempts, charge) };
    return Buffer.concat([final.tail, Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`), DONE]);
  }

  broken(error: GatewayError, attempts: readonly Leg[]): string {
    const choices = [{ index: 0, delta: { content: "" }, finish_reason: "error" }];
    const chunk = { ...this.#chunk(attempts), choices, error: errorObject(error) };
    return `data: ${JSON.stringify(chunk)}\n\n`;
  }

  /** A chunk under the last tried route's name; there may be no route yet. */
  #chunk(attempts: readonly Leg[]): Record<string, unknown> {
    const { completionId: id, createdS: created } = this.options;
    return { id, object: "chat.completion.chunk", created, model: attempts.at(-1)?.model ?? "" };
  }
}
