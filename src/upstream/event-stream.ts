// The stream side of an attempt: splits bytes into events, and turns them into the answer in the caller's wire.
import { isEventStream, mediaTypeOf } from "../core/event-stream.ts";
import { jsonText } from "../core/raw-json.ts";
import type { AnswerSink, Reading } from "../core/route.ts";
import { classify } from "./classify.ts";
import { EventstreamFrames } from "./eventstream-frames.ts";
import type { StreamReader } from "./format-kit/dialect.ts";
import { HeldStream } from "./held-stream.ts";
import type { Lane } from "./lane.ts";
import { EventTooLarge, SseScanner } from "./sse-scanner.ts";

const EVENT_BYTES_MAX = 16 * 1024 * 1024;
/** How much is read before other calls get a turn, in events and in their bytes. */
const SLICE_EVENTS = 256;
const SLICE_BYTES = 256 * 1024;
/** A JSON list of events is read in one slice, so it has its own limit. */
const LISTED_EVENTS_MAX = 10_000;

export type Framing = "sse" | "eventstream";

/** The framing for an answer's content type; null if it is not a stream. */
export function framingOf(contentType: string | undefined): Framing | null {
  if (isEventStream(contentType)) return "sse";
  return mediaTypeOf(contentType) === "application/vnd.amazon.eventstream" ? "eventstream" : null;
}

/** The status that the vendor would send with an exception before the stream. */
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
  /** Reading stopped within a chunk; the next chunk, which may be empty, resumes it. */
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

  /** The answer is complete; only usage and the end mark can still arrive. */
  get finished(): boolean {
    return this.#out.finished;
  }

  get closing(): number {
    return this.#out.closing;
  }

  get #isSlice(): boolean {
    return this.#sliceEvents >= SLICE_EVENTS || this.#sliceBytes >= SLICE_BYTES;
  }

  /** Reads one chunk. Returns false if other calls should get a turn. Throws EventTooLarge. */
  push(chunk: Buffer): boolean {
    // A content listener may ask for more right away.
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

  /** Reads a JSON body in place of a stream: a whole answer, or a list of events. Throws EventTooLarge. */
  tell(json: unknown, lane: Pick<Lane, "tell">): void {
    if (!Array.isArray(json)) return lane.tell?.(json, this.#out);
    if (json.length > LISTED_EVENTS_MAX) throw new EventTooLarge(`it lists more than ${LISTED_EVENTS_MAX} events`);
    for (const event of json) {
      if (this.#out.over) return;
      this.push(Buffer.from(`data: ${jsonText(event)}\n\n`));
    }
    this.end();
  }

  /** Call at the end of the body: the stream is complete if the answer finished, otherwise it was cut. */
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
