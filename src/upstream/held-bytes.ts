// An answer that is bytes, passed on as it comes but for its last piece: what acknowledges the charge goes out after it.
import type { AnswerSink, Reading } from "../core/route.ts";

export class HeldBytes {
  readonly #sink: AnswerSink;
  #last: Buffer | null = null;
  #bytes = 0;
  /** Nothing in the bytes says where they end. */
  readonly finished = false;
  readonly closing = false;
  readonly waits = false;

  constructor(sink: AnswerSink) {
    this.#sink = sink;
  }

  /** Passes the piece before it on. */
  push(chunk: Buffer): boolean {
    if (chunk.length === 0) return true;
    const before = this.#last;
    this.#last = chunk;
    this.#bytes += chunk.length;
    if (before !== null) this.#sink.content(before);
    return true;
  }

  /** An answer without a byte is none. */
  end(): void {
    const tail = this.#last;
    if (tail !== null) return this.#sink.done({ kind: "stream", tail });
    this.#sink.failed({ kind: "provider_malformed", status: 200, message: "the answer is empty", retryAfterMs: null });
  }

  reading(): Reading {
    const delivered = { text: "", bytes: this.#bytes };
    return { usage: null, delivered, upstreamCostNano: null, skippedEvents: 0 };
  }
}
