// Passes on a stream of the messages wire under our model name, parsing only the events that differ.

import { isRecord, type Json, stringOf } from "../../../core/json.ts";
import { jsonText } from "../../../core/raw-json.ts";
import type { BytesOut, ChatContext, StreamReader } from "../../../upstream/format-kit/dialect.ts";
import { eventJson } from "../../../upstream/format-kit/event-json.ts";
import {
  type EventTemplate,
  filledTemplate,
  learnTemplate,
  matchesTemplate,
} from "../../../upstream/format-kit/event-template.ts";
import { emptiness } from "../../../upstream/vendor-failure.ts";
import { COUNTS, failureInside, finishOf, mergeUsage, tellUnpriced, usageOf } from "./vendor-answer.ts";

const LINE_END = 0x0a;

function textOf(delta: Json): string {
  return stringOf(delta.text) ?? stringOf(delta.thinking) ?? stringOf(delta.partial_json) ?? "";
}

function eventOf(type: string, data: string): Buffer {
  return Buffer.from(`event: ${type}\ndata: ${data}\n\n`);
}

/** The caller's name of the called tool. */
export function originalName({ type, name }: Json, { tools }: ChatContext): unknown {
  return type === "tool_use" && typeof name === "string" ? (tools?.original(name) ?? name) : name;
}

class MessagesPassingReader implements StreamReader {
  readonly #context: ChatContext;
  readonly #out: BytesOut;
  #template: EventTemplate | null = null;
  #usage: Json = {};
  #bore = false;
  #finished = false;

  constructor(context: ChatContext, out: BytesOut) {
    this.#context = context;
    this.#out = out;
  }

  event(bytes: Buffer, start: number, end: number, name: string | null): boolean {
    const template = this.#template;
    if (template !== null && matchesTemplate(template, bytes, start, end)) {
      const from = start + template.head.length;
      const to = end - template.tail.length;
      this.#out.raw(filledTemplate(template, bytes, from, to), "content");
      this.#out.delivered(bytes, from, to);
      return true;
    }
    const data = eventJson(bytes, start, end);
    if (data === null) return false;
    const came = bytes.subarray(start, end);
    const type = stringOf(data.type) ?? name;
    // Data that a vendor spread over several lines would no longer be one event.
    const json = came.includes(LINE_END) ? jsonText(data) : came.toString("utf8");
    if (type !== null && /^\w+$/.test(type)) this.#read(type, data, { json, bytes: came });
    return true;
  }

  #read(type: string, data: Json, came: { readonly json: string; readonly bytes: Buffer }): void {
    switch (type) {
      case "message_start":
        return this.#begin(data);
      case "content_block_start":
        this.#template = null;
        return this.#start(data, isRecord(data.content_block) ? data.content_block : {}, came.json);
      case "content_block_delta":
        return this.#delta(isRecord(data.delta) ? data.delta : {}, came);
      case "message_delta":
        this.#count(data.usage);
        return this.#finish(data);
      case "message_stop":
        return this.#out.end();
      case "error":
        return this.#out.fail(failureInside(data));
      default:
        // The end of a block, a ping, or an unknown event: none of them is charged.
        this.#out.raw(eventOf(type, came.json), "preamble");
    }
  }

  #count(usage: unknown): void {
    this.#usage = mergeUsage(this.#usage, usage);
    const counted = usageOf(this.#usage);
    if (counted !== null) this.#out.usage(counted);
  }

  #begin(data: Json): void {
    const told = isRecord(data.message) ? data.message : {};
    this.#count(told.usage);
    const message = { ...told, id: this.#context.completionId, model: this.#context.servedSlug };
    this.#out.choice(0, false);
    this.#out.raw(eventOf("message_start", JSON.stringify({ ...data, message })), "preamble");
  }

  /** A call counts as content once it has a name, text and thoughts once they have a word. */
  #start(data: Json, block: Json, came: string): void {
    const name = originalName(block, this.#context);
    const json = name === block.name ? came : jsonText({ ...data, content_block: { ...block, name } });
    const isEmpty = /thinking$/.test(String(block.type)) || (block.type === "text" && block.text === "");
    this.#bore ||= !isEmpty;
    this.#out.choice(0, false);
    this.#out.raw(eventOf("content_block_start", json), isEmpty ? "preamble" : "content");
    const text = `${stringOf(block.name) ?? ""}${stringOf(block.text) ?? ""}`;
    this.#out.deliveredText(text);
  }

  #delta(delta: Json, { json, bytes }: { readonly json: string; readonly bytes: Buffer }): void {
    const text = textOf(delta);
    this.#bore ||= text !== "";
    this.#out.choice(0, false);
    const event = eventOf("content_block_delta", json);
    this.#out.raw(event, text === "" ? "preamble" : "content");
    this.#out.deliveredText(text);
    if (text !== "") this.#template = learnTemplate(bytes, event);
  }

  /** Leaves the last event open inside its usage, where the caller's wire adds counts and cost. Other counters stay as written. */
  #finish(data: Json): void {
    const delta = isRecord(data.delta) ? data.delta : {};
    const native = delta.stop_reason;
    if (typeof native !== "string") return;
    const empty = this.#bore ? null : emptiness(finishOf(native), native);
    if (empty !== null) this.#out.empty(empty);
    if (!this.#finished) tellUnpriced(this.#usage, this.#context);
    this.#finished = true;
    this.#template = null;
    const { usage, ...told } = data;
    const more = Object.entries(isRecord(usage) ? usage : {}).filter(
      ([name]) => !COUNTS.includes(name) && name !== "cost",
    );
    const counters = more.map(([name, count]) => `${JSON.stringify(name)}:${JSON.stringify(count)},`).join("");
    const opened = `${JSON.stringify({ ...told, type: "message_delta" }).slice(0, -1)},"usage":{${counters}`;
    this.#out.choice(0, true);
    this.#out.raw(Buffer.from(`event: message_delta\ndata: ${opened}`), "finish");
  }
}

export function messagesPassingReader(context: ChatContext, out: BytesOut): StreamReader {
  return new MessagesPassingReader(context, out);
}
