// Reads a stream of the converse wire, whose events have their names outside of their data.
import { isRecord, type Json, stringOf, wordOf } from "../../json.ts";
import { failureOf, finishOf, formatOf, usageOf } from "./converse-wire.ts";
import type { ChatContext, EventOut, StreamReader } from "./dialect.ts";
import { thoughtOf } from "./messages-answer.ts";
import { OneChoice } from "./one-choice.ts";

/** A call that is being written. */
interface OpenCall {
  readonly at: number;
  written: boolean;
}

/** The most that an open thought may make us keep, and how many calls may be open, so that no stream fills our memory. */
const THOUGHT_CHARACTERS_MAX = 1024 * 1024;
const CALLS_MAX = 1_000;

class ConverseReader implements StreamReader {
  readonly #out: EventOut;
  readonly #choice: OneChoice;
  readonly #format: string;
  readonly #calls = new Map<unknown, OpenCall>();
  #count = 0;
  #thought = { text: "", signature: "" };

  constructor(context: ChatContext, out: EventOut) {
    this.#out = out;
    this.#choice = new OneChoice(out);
    this.#format = formatOf(context);
  }

  event(bytes: Buffer, start: number, end: number, name: string | null): boolean {
    let data: unknown;
    try {
      data = JSON.parse(bytes.toString("utf8", start, end));
    } catch {
      return false;
    }
    if (!isRecord(data)) return false;
    this.#read(name, data);
    return true;
  }

  #read(name: string | null, data: Json): void {
    switch (name) {
      case "messageStart":
        return this.#choice.begin();
      case "contentBlockStart":
        return this.#start(data.contentBlockIndex, isRecord(data.start) ? data.start : {});
      case "contentBlockDelta":
        return this.#delta(data.contentBlockIndex, isRecord(data.delta) ? data.delta : {});
      case "contentBlockStop":
        return this.#stop(data.contentBlockIndex);
      case "messageStop":
        return this.#finish(stringOf(data.stopReason) ?? "end_turn");
      case "metadata": {
        const usage = usageOf(data.usage);
        if (usage !== null) this.#out.usage(usage);
        this.#out.end();
      }
    }
  }

  #start(index: unknown, { toolUse }: Json): void {
    if (!isRecord(toolUse)) return;
    const at = this.#count++;
    if (at >= CALLS_MAX) return this.#tooMuch();
    this.#calls.set(index, { at, written: false });
    const told = { id: wordOf(toolUse.toolUseId), name: wordOf(toolUse.name), arguments: "" };
    this.#choice.give({ kind: "tool-call", choice: 0, at, ...told });
  }

  #delta(index: unknown, { text, toolUse, reasoningContent }: Json): void {
    if (typeof text === "string") this.#choice.say("text", text);
    if (isRecord(toolUse) && typeof toolUse.input === "string") this.#write(this.#calls.get(index), toolUse.input);
    if (isRecord(reasoningContent)) this.#think(reasoningContent);
  }

  #write(call: OpenCall | undefined, text: string): void {
    if (call === undefined || text === "") return;
    call.written = true;
    this.#choice.give({ kind: "tool-arguments", choice: 0, at: call.at, text });
  }

  #think({ text, signature, redactedContent }: Json): void {
    this.#choice.say("reasoning", text);
    this.#thought.text += stringOf(text) ?? "";
    this.#thought.signature += stringOf(signature) ?? "";
    if (this.#thought.text.length + this.#thought.signature.length > THOUGHT_CHARACTERS_MAX) this.#tooMuch();
    if (typeof redactedContent === "string") this.#choice.sign(thoughtOf(this.#format, { sealed: redactedContent }));
  }

  /** A call without arguments comes without fragments; clients parse what was written. */
  #stop(index: unknown): void {
    const call = this.#calls.get(index);
    if (call?.written === false) this.#write(call, "{}");
    if (this.#thought.signature !== "") this.#choice.sign(thoughtOf(this.#format, this.#thought));
    this.#thought = { text: "", signature: "" };
  }

  #finish(native: string): void {
    const failure = failureOf(native, this.#choice.delivered);
    if (failure !== null) return this.#out.fail(failure);
    this.#choice.finish({ reason: finishOf(native), native });
  }

  #tooMuch(): void {
    const message = "the stream leaves too much open";
    this.#out.fail({ kind: "provider_malformed", status: 200, message, retryAfterMs: null });
  }
}

/** A reader of one stream in the converse wire. */
export function converseReader(context: ChatContext, out: EventOut): StreamReader {
  return new ConverseReader(context, out);
}
