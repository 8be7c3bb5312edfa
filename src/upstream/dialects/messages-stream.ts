// Reads a stream of the messages wire.
import { isRecord, type Json, stringOf, wordOf } from "../../json.ts";
import type { ReasoningBlock } from "../../neutral.ts";
import type { ChatContext, EventOut, StreamReader } from "./dialect.ts";
import { thoughtOf } from "./messages-answer.ts";
import { emptyAnswer, failureInside, finishOf, formatOf, mergeUsage, usageOf } from "./messages-wire.ts";
import { OneChoice } from "./one-choice.ts";

/** A content block that is being written. */
type OpenBlock =
  | { readonly kind: "call"; readonly at: number; readonly input: string; written: boolean }
  | { readonly kind: "thought"; text: string; signature: string }
  | { readonly kind: "other" };

/** The most that open blocks may make us keep, in characters: a vendor that opens more, or never closes one, has failed. */
const KEPT_MAX = 1024 * 1024;
const KEPT_PER_BLOCK = 64;

function keptBy(block: OpenBlock | undefined): number {
  if (block === undefined) return 0;
  if (block.kind === "thought") return KEPT_PER_BLOCK + block.text.length + block.signature.length;
  return block.kind === "call" ? KEPT_PER_BLOCK + block.input.length : KEPT_PER_BLOCK;
}

class MessagesReader implements StreamReader {
  readonly #out: EventOut;
  readonly #choice: OneChoice;
  readonly #format: string;
  readonly #open = new Map<unknown, OpenBlock>();
  #kept = 0;
  #usage: Json = {};
  #calls = 0;
  #finished = false;

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
    this.#read(stringOf(data.type) ?? name, data);
    return true;
  }

  /** Events of a type we do not know, `ping` among them, say nothing to the caller. */
  #read(type: string | null, data: Json): void {
    switch (type) {
      case "message_start":
        this.#count(isRecord(data.message) ? data.message.usage : null);
        this.#choice.begin();
        return;
      case "content_block_start":
        this.#start(data.index, isRecord(data.content_block) ? data.content_block : {});
        return;
      case "content_block_delta":
        this.#delta(this.#open.get(data.index), isRecord(data.delta) ? data.delta : {});
        return;
      case "content_block_stop":
        this.#stop(data.index);
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

  /** Keeps a block under an index, where one that was never closed may lie still. */
  #openBlock(index: unknown, block: OpenBlock): void {
    this.#kept -= keptBy(this.#open.get(index));
    this.#open.set(index, block);
    this.#keep(keptBy(block));
  }

  #keep(more: number): void {
    this.#kept += more;
    if (this.#kept <= KEPT_MAX) return;
    const message = "the stream leaves too much open";
    this.#out.fail({ kind: "provider_malformed", status: 200, message, retryAfterMs: null });
  }

  #start(index: unknown, block: Json): void {
    switch (block.type) {
      case "text":
        this.#openBlock(index, { kind: "other" });
        this.#choice.say("text", block.text);
        return;
      case "thinking":
        this.#openBlock(index, { kind: "thought", text: "", signature: stringOf(block.signature) ?? "" });
        this.#think(this.#open.get(index), block.thinking);
        return;
      case "redacted_thinking":
        if (typeof block.data === "string") this.#sign({ sealed: block.data });
        return;
      case "tool_use": {
        const at = this.#calls++;
        this.#openBlock(index, { kind: "call", at, input: JSON.stringify(block.input ?? {}), written: false });
        const told = { id: wordOf(block.id), name: wordOf(block.name), arguments: "" };
        this.#choice.give({ kind: "tool-call", choice: 0, at, ...told });
      }
    }
  }

  #delta(open: OpenBlock | undefined, delta: Json): void {
    if (delta.type === "text_delta") {
      this.#choice.say("text", delta.text);
    } else if (delta.type === "thinking_delta") {
      this.#think(open, delta.thinking);
    } else if (delta.type === "signature_delta" && open?.kind === "thought") {
      const fragment = stringOf(delta.signature) ?? "";
      open.signature += fragment;
      this.#keep(fragment.length);
    } else if (delta.type === "input_json_delta" && open?.kind === "call" && typeof delta.partial_json === "string") {
      this.#write(open, delta.partial_json);
    }
  }

  #write(call: OpenBlock & { kind: "call" }, fragment: string): void {
    if (fragment === "") return;
    call.written = true;
    this.#choice.give({ kind: "tool-arguments", choice: 0, at: call.at, text: fragment });
  }

  #think(open: OpenBlock | undefined, text: unknown): void {
    this.#choice.say("reasoning", text);
    if (typeof text !== "string" || open?.kind !== "thought") return;
    open.text += text;
    this.#keep(text.length);
  }

  /** The signature comes last, so the whole thought goes out once more, as the one piece a client has to carry back. */
  #sign(told: Partial<ReasoningBlock>): void {
    this.#choice.sign(thoughtOf(this.#format, told));
  }

  #stop(index: unknown): void {
    const open = this.#open.get(index);
    this.#open.delete(index);
    this.#kept -= keptBy(open);
    if (open?.kind === "thought" && open.signature !== "") {
      this.#sign({ text: open.text, signature: open.signature });
    }
    // A call without arguments comes without fragments; clients parse what was written.
    if (open?.kind === "call" && !open.written) this.#write(open, open.input);
  }

  #finish(delta: Json): void {
    const native = delta.stop_reason;
    if (typeof native !== "string" || this.#finished) return;
    for (const index of [...this.#open.keys()]) this.#stop(index);
    this.#finished = true;
    const finish = finishOf(native);
    const details = isRecord(delta.stop_details) ? delta.stop_details : {};
    const failure = this.#choice.delivered ? null : emptyAnswer(finish, native, details.explanation);
    if (failure !== null) {
      this.#out.fail(failure);
      return;
    }
    this.#choice.finish({ reason: finish, native });
  }
}

/** A reader of one stream in the messages wire. */
export function messagesReader(context: ChatContext, out: EventOut): StreamReader {
  return new MessagesReader(context, out);
}
