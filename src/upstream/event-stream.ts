// The stream side of an attempt: bytes become events, events become the answer in the caller's wire.
import type { AnswerSink, Reading } from "../route.ts";
import { classify } from "./classify.ts";
import type { StreamReader } from "./dialects/dialect.ts";
import { EventstreamFrames } from "./eventstream-frames.ts";
import { HeldStream } from "./held-stream.ts";
import type { Lane } from "./lane.ts";
import { SseScanner } from "./sse-scanner.ts";

const EVENT_BYTES_MAX = 16 * 1024 * 1024;

/** How the events of a stream are told apart. */
export type Framing = "sse" | "eventstream";

/** By the content type of an answer; null: it is no stream. */
export function framingOf(contentType: string): Framing | null {
  if (contentType.startsWith("text/event-stream")) return "sse";
  return contentType.startsWith("application/vnd.amazon.eventstream") ? "eventstream" : null;
}

/** The status that an exception inside a binary stream comes with where it comes before it. */
const EXCEPTION_STATUS: Readonly<Record<string, number>> = {
  throttlingException: 429,
  validationException: 400,
  accessDeniedException: 403,
  modelTimeoutException: 408,
  modelNotReadyException: 429,
  serviceUnavailableException: 503,
};

interface Scanner {
  push(chunk: Buffer): void;
  end(): void;
}

export class EventStream {
  readonly #out: HeldStream;
  readonly #reader: StreamReader;
  readonly #scanner: Scanner;

  constructor(lane: Lane, sink: AnswerSink, framing: Framing = "sse") {
    this.#out = new HeldStream(sink);
    this.#reader = lane.reader(this.#out);
    const read = (bytes: Buffer, start: number, end: number, name: string | null) => {
      if (!this.#out.over && !this.#reader.event(bytes, start, end, name)) this.#out.skip();
    };
    this.#scanner =
      framing === "sse"
        ? new SseScanner(read, EVENT_BYTES_MAX)
        : new EventstreamFrames(read, (type, message) => this.#failed(type, message), EVENT_BYTES_MAX);
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

  #failed(type: string, message: string): void {
    const status = Object.hasOwn(EXCEPTION_STATUS, type) ? (EXCEPTION_STATUS[type] ?? 500) : 500;
    this.#out.fail(classify(status, { words: [type.toLowerCase()], message }, null));
  }

  reading(): Reading {
    return this.#out.reading();
  }
}
