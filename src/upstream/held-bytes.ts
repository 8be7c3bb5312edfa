// Passes on a binary answer as it arrives, but holds back the last piece: it acknowledges the charge, so it must follow the charge.
import type { AnswerSink, Reading } from "../core/route.ts";
import { NOTHING_READ } from "./nothing-read.ts";
import { malformed } from "./vendor-failure.ts";

export class HeldBytes {
  readonly #sink: AnswerSink;
  #last: Buffer | null = null;
  #bytes = 0;
  /** The bytes do not mark their end. */
  readonly finished = false;
  readonly closing = false;
  readonly waits = false;

  constructor(sink: AnswerSink) {
    this.#sink = sink;
  }

  /** Passes on the previous piece, and holds back this one. */
  push(chunk: Buffer): boolean {
    if (chunk.length === 0) return true;
    const before = this.#last;
    this.#last = chunk;
    this.#bytes += chunk.length;
    if (before !== null) this.#sink.content(before);
    return true;
  }

  /** An empty answer is a failure. */
  end(): void {
    const tail = this.#last;
    if (tail !== null) return this.#sink.done({ kind: "stream", tail });
    this.#sink.failed(malformed("the answer is empty"));
  }

  reading(): Reading {
    return { ...NOTHING_READ, delivered: { text: "", bytes: this.#bytes } };
  }
}
