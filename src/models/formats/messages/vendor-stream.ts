// Parses a stream of the messages wire.

import { isRecord, type Json, stringOf } from "../../../core/json.ts";
import type { ChatContext, EventOut, StreamReader } from "../../../upstream/dialects/dialect.ts";
import { eventJson } from "../../../upstream/dialects/event-json.ts";
import { OneChoice } from "../../../upstream/dialects/one-choice.ts";
import { OpenBlocks } from "../../../upstream/dialects/open-blocks.ts";
import { emptiness } from "../../../upstream/vendor-failure.ts";
import { explanationOf, failureInside, finishOf, formatOf, mergeUsage, usageOf } from "./vendor-answer.ts";

class MessagesReader implements StreamReader {
  readonly #out: EventOut;
  readonly #choice: OneChoice;
  readonly #blocks: OpenBlocks;
  #usage: Json = {};

  constructor(context: ChatContext, out: EventOut) {
    this.#out = out;
    this.#choice = new OneChoice(context, out);
    this.#blocks = new OpenBlocks(out, this.#choice, formatOf(context));
  }

  event(bytes: Buffer, start: number, end: number, name: string | null): boolean {
    const data = eventJson(bytes, start, end);
    if (data === null) return false;
    this.#read(stringOf(data.type) ?? name, data);
    return true;
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

  #start(index: unknown, block: Json): void {
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
        this.#choice.call({ key: index, id: block.id, name: block.name, whole: block.input ?? {} });
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
    const empty = this.#choice.delivered ? null : emptiness(finish, native);
    if (empty !== null) this.#out.empty(empty);
    this.#choice.finish({ reason: finish, native });
  }
}

export function messagesReader(context: ChatContext, out: EventOut): StreamReader {
  return new MessagesReader(context, out);
}
