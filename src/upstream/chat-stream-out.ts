// Where every dialect's stream reader puts what it read: holds back what must not go out yet, passes on the rest.
import type { Nano } from "../money.ts";
import type { AnswerSink, AttemptFailure, Reading, TokenUsage } from "../plan.ts";
import { DeliveredText } from "./delivered-text.ts";
import type { ChatContext, ChatStreamOut, FinishReason } from "./dialects/dialect.ts";

/** The most that is held back of a stream that has not begun, or has finished: a vendor that sends more of either never ends. */
const HELD_BYTES_MAX = 1024 * 1024;
/** A vendor's choices are kept count of. We ask for eight at most. */
const CHOICES_MAX = 128;

const CONTENT_KEYS = ["content", "reasoning", "refusal"];

/** The text of a delta made by a translating dialect that a token count needs. */
function textOf(delta: Readonly<Record<string, unknown>>): string {
  let text = "";
  for (const key of CONTENT_KEYS) if (typeof delta[key] === "string") text += delta[key];
  if (!Array.isArray(delta.tool_calls)) return text;
  for (const call of delta.tool_calls as { function?: { name?: string; arguments?: string } }[]) {
    text += `${call.function?.name ?? ""}${call.function?.arguments ?? ""}`;
  }
  return text;
}

/**
 * The answer side of one streamed attempt. Preamble is held until content comes, so that another route can still take
 * over unseen; finish events are held until the end, because they are part of what the ledger's commit precedes.
 */
export class ChatStream implements ChatStreamOut {
  readonly #context: ChatContext;
  readonly #sink: AnswerSink;
  readonly #text = new DeliveredText();
  #preamble: Buffer[] = [];
  #held: Buffer[] = [];
  /** The size of both together. */
  #heldBytes = 0;
  /** Content of the piece that is being read: one write for all events that came together. */
  #ready: Buffer[] = [];
  #committed = false;
  /** Choices that have begun, and those of them that have ended. */
  readonly #begun = new Set<number>();
  readonly #ended = new Set<number>();
  #over = false;
  #skipped = 0;
  #usage: TokenUsage | null = null;
  #upstreamCostNano: Nano | null = null;

  constructor(context: ChatContext, sink: AnswerSink) {
    this.#context = context;
    this.#sink = sink;
  }

  /** No event can change the outcome any more. */
  get over(): boolean {
    return this.#over;
  }

  /** The answer itself is complete, every choice of it; only usage and the vendor's goodbye can still come. */
  get finished(): boolean {
    return this.#ended.size > 0 && this.#ended.size === this.#begun.size;
  }

  reading(): Reading {
    return {
      usage: this.#usage,
      delivered: this.#text.read(),
      upstreamCostNano: this.#upstreamCostNano,
      skippedEvents: this.#skipped,
    };
  }

  /** An event could not be parsed and was left out. */
  skip(): void {
    this.#skipped++;
  }

  choice(index: number, ended: boolean): void {
    if (this.#over) return;
    this.#begun.add(index);
    if (this.#begun.size > CHOICES_MAX) this.#tooMuch(`the stream has more than ${CHOICES_MAX} choices`);
    if (ended) this.#ended.add(index);
  }

  raw(event: Buffer, kind: "content" | "preamble" | "finish"): void {
    if (this.#over) return;
    if (kind === "finish") this.#hold(event, this.#held);
    else if (kind === "preamble" && !this.#committed) this.#hold(event, this.#preamble);
    else this.#content(event);
  }

  delta(index: number, delta: Readonly<Record<string, unknown>>): void {
    if (this.#over) return;
    this.choice(index, false);
    const text = textOf(delta);
    const bearing = text !== "" || Array.isArray(delta.tool_calls) || Array.isArray(delta.images);
    this.raw(this.#chunk({ index, delta, finish_reason: null }), bearing ? "content" : "preamble");
    this.#text.addText(text);
  }

  finish(index: number, reason: FinishReason, native: string): void {
    this.choice(index, true);
    const choice = { index, delta: {}, finish_reason: reason, native_finish_reason: native };
    this.raw(this.#chunk(choice), "finish");
  }

  usage(usage: TokenUsage): void {
    this.#usage = usage;
  }

  upstreamCost(nano: Nano): void {
    this.#upstreamCostNano = nano;
  }

  fail(failure: AttemptFailure): void {
    if (this.#over) return;
    this.flush();
    this.#over = true;
    this.#sink.failed(failure);
  }

  /** The vendor, or the end of its body, ends the stream: whole if it finished, cut if it did not. */
  end(): void {
    if (this.#over) return;
    this.flush();
    if (!this.finished) {
      const message = "the stream ended before the answer was finished";
      this.fail({ kind: "provider_cut", status: 200, message, retryAfterMs: null });
      return;
    }
    this.#over = true;
    this.#sink.done({ kind: "stream", tail: Buffer.concat([...this.#preamble, ...this.#held]) });
  }

  /** Passes on what has been read. Called when a piece of the vendor's bytes is used up, so that nothing waits for more. */
  flush(): void {
    const [only, ...more] = this.#ready;
    if (only === undefined) return;
    this.#ready = [];
    this.#sink.content(more.length === 0 ? only : Buffer.concat([only, ...more]));
  }

  delivered(bytes: Buffer, start: number, end: number): void {
    this.#text.add(bytes, start, end);
  }

  #hold(event: Buffer, held: Buffer[]): void {
    held.push(event);
    this.#heldBytes += event.length;
    if (this.#heldBytes > HELD_BYTES_MAX) this.#tooMuch("the stream goes on and on without content");
  }

  #tooMuch(message: string): void {
    this.#preamble = [];
    this.#held = [];
    this.fail({ kind: "provider_malformed", status: 200, message, retryAfterMs: null });
  }

  #content(event: Buffer): void {
    if (!this.#committed || this.#held.length > 0) {
      // Another choice may go on after one has finished: what was held goes first, in the order it came.
      this.#ready.push(...this.#preamble, ...this.#held);
      this.#committed = true;
      this.#preamble = [];
      this.#held = [];
      this.#heldBytes = 0;
    }
    this.#ready.push(event);
  }

  #chunk(choice: Record<string, unknown>): Buffer {
    const { completionId, createdS, servedSlug } = this.#context;
    const chunk = {
      id: completionId,
      object: "chat.completion.chunk",
      created: createdS,
      model: servedSlug,
      choices: [choice],
    };
    return Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`);
  }
}
