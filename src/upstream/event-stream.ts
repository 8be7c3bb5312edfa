// The stream side of an attempt: bytes become events, events become the answer in the caller's wire.
import type { AnswerSink, Reading } from "../route.ts";
import type { StreamReader } from "./dialects/dialect.ts";
import { HeldStream } from "./held-stream.ts";
import type { Lane } from "./lane.ts";
import { SseScanner } from "./sse-scanner.ts";

const EVENT_BYTES_MAX = 16 * 1024 * 1024;

export class EventStream {
  readonly #out: HeldStream;
  readonly #reader: StreamReader;
  readonly #scanner: SseScanner;

  constructor(lane: Lane, sink: AnswerSink) {
    this.#out = new HeldStream(sink);
    this.#reader = lane.reader(this.#out);
    this.#scanner = new SseScanner((bytes, start, end, name) => {
      if (!this.#out.over && !this.#reader.event(bytes, start, end, name)) this.#out.skip();
    }, EVENT_BYTES_MAX);
  }

  /** The answer itself is complete; only usage and the vendor's goodbye can still come. */
  get finished(): boolean {
    return this.#out.finished;
  }

  /** Reads one chunk. Throws EventTooLarge. */
  push(chunk: Buffer): void {
    try {
      this.#scanner.push(chunk);
    } finally {
      this.#out.flush();
    }
  }

  /** The body has ended: the stream is whole if the answer was finished, and cut if it was not. */
  end(): void {
    this.#scanner.end();
    this.#out.end();
  }

  reading(): Reading {
    return this.#out.reading();
  }
}
