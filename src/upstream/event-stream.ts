// The stream side of an attempt: bytes become events, events become the answer in the caller's wire.
import { isEventStream, mediaTypeOf } from "../core/event-stream.ts";
import { jsonText } from "../core/raw-json.ts";
import type { AnswerSink, Reading } from "../core/route.ts";
import { classify } from "./classify.ts";
import type { StreamReader } from "./dialects/dialect.ts";
import { EventstreamFrames } from "./eventstream-frames.ts";
import { HeldStream } from "./held-stream.ts";
import type { Lane } from "./lane.ts";
import { EventTooLarge, SseScanner } from "./sse-scanner.ts";

const EVENT_BYTES_MAX = 16 * 1024 * 1024;
/** What is read at one go, in events and in bytes of them: then others have their turn. */
const SLICE_EVENTS = 256;
const SLICE_BYTES = 256 * 1024;
/** A list of events is read in one slice. */
const LISTED_EVENTS_MAX = 10_000;

/** How the events of a stream are told apart. */
export type Framing = "sse" | "eventstream";

/** By the content type of an answer; null: it is no stream. */
export function framingOf(contentType: string | undefined): Framing | null {
  if (isEventStream(contentType)) return "sse";
  return mediaTypeOf(contentType) === "application/vnd.amazon.eventstream" ? "eventstream" : null;
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
  push(chunk: Buffer): boolean;
  end(): void;
}

export class EventStream {
  readonly #out: HeldStream;
  readonly #reader: StreamReader;
  readonly #scanner: Scanner;
  #sliceEvents = 0;
  #sliceBytes = 0;
  /** It has stopped within a chunk, and goes on with the next one, which may be empty. */
  waits = false;

  constructor(lane: Pick<Lane, "reader">, sink: AnswerSink, framing: Framing = "sse") {
    this.#out = new HeldStream(sink);
    this.#reader = lane.reader(this.#out);
    const read = (bytes: Buffer, start: number, end: number, name: string | null) => {
      if (start === end || this.#out.over) return true;
      if (!this.#reader.event(bytes, start, end, name)) this.#out.skip();
      this.#sliceEvents++;
      this.#sliceBytes += end - start;
      return !this.#isSlice;
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

  get closing(): number {
    return this.#out.closing;
  }

  get #isSlice(): boolean {
    return this.#sliceEvents >= SLICE_EVENTS || this.#sliceBytes >= SLICE_BYTES;
  }

  /** Reads one chunk. False: others are to have their turn. Throws EventTooLarge. */
  push(chunk: Buffer): boolean {
    // Who hears of content may ask for more at once.
    this.waits = false;
    try {
      this.waits = !this.#scanner.push(chunk);
    } finally {
      this.#out.flush();
    }
    if (!this.#isSlice) return true;
    this.#sliceEvents = 0;
    this.#sliceBytes = 0;
    return false;
  }

  /** Reads a body that is no stream: a whole answer, or a list of what would otherwise be events. Throws EventTooLarge. */
  tell(json: unknown, whole: NonNullable<Lane["tell"]>): void {
    if (!Array.isArray(json)) return whole(json, this.#out);
    if (json.length > LISTED_EVENTS_MAX) throw new EventTooLarge(`it lists more than ${LISTED_EVENTS_MAX} events`);
    for (const event of json) {
      if (this.#out.over) return;
      this.push(Buffer.from(`data: ${jsonText(event)}\n\n`));
    }
    this.end();
  }

  /** The body has ended: the stream is whole if the answer was finished, and cut if it was not. */
  end(): void {
    while (this.waits) this.push(Buffer.alloc(0));
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
