// The stream side of an attempt: bytes become events, events become the answer in the caller's wire.
import type { AnswerSink, Reading } from "../plan.ts";
import { ChatStream } from "./chat-stream-out.ts";
import type { ChatContext, ChatStreamReader, Dialect } from "./dialects/dialect.ts";
import { SseScanner } from "./sse-scanner.ts";

const EVENT_BYTES_MAX = 16 * 1024 * 1024;

export class EventStream {
  readonly #out: ChatStream;
  readonly #reader: ChatStreamReader;
  readonly #scanner: SseScanner;

  constructor(dialect: Dialect, context: ChatContext, sink: AnswerSink) {
    this.#out = new ChatStream(context, sink);
    this.#reader = dialect.reader(context, this.#out);
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
