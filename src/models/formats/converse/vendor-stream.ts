// Parses a stream of the converse wire, which puts event names outside the data.

import { isRecord, type Json, stringOf } from "../../../core/json.ts";
import type { ChatContext, EventOut, StreamReader } from "../../../upstream/dialects/dialect.ts";
import { eventJson } from "../../../upstream/dialects/event-json.ts";
import { OneChoice } from "../../../upstream/dialects/one-choice.ts";
import { OpenBlocks } from "../../../upstream/dialects/open-blocks.ts";
import { emptiness } from "../../../upstream/vendor-failure.ts";
import { failureOf, finishOf, formatOf, usageOf } from "./vendor-answer.ts";

class ConverseReader implements StreamReader {
  readonly #out: EventOut;
  readonly #choice: OneChoice;
  readonly #blocks: OpenBlocks;
  #finished = false;

  constructor(context: ChatContext, out: EventOut) {
    this.#out = out;
    this.#choice = new OneChoice(context, out);
    this.#blocks = new OpenBlocks(out, this.#choice, formatOf(context));
  }

  event(bytes: Buffer, start: number, end: number, name: string | null): boolean {
    const data = eventJson(bytes, start, end);
    if (data === null) return false;
    this.#read(name, data);
    return true;
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
    this.#choice.call({ key: index, id: toolUse.toolUseId, name: toolUse.name, whole: "{}" });
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
    const empty = this.#choice.delivered ? null : emptiness(finishOf(native), native);
    if (empty !== null) this.#out.empty(empty);
    this.#choice.finish({ reason: finishOf(native), native });
  }
}

export function converseReader(context: ChatContext, out: EventOut): StreamReader {
  return new ConverseReader(context, out);
}
