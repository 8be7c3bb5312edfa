// Passes on a long answer unparsed as it arrives, if nothing in it must be read.
import type { IncomingHttpHeaders } from "node:http";
import { mediaTypeOf } from "../core/event-stream.ts";
import type { AnswerSink } from "../core/route.ts";
import type { AnswerBody } from "./answer-body.ts";

/** The size from which a good answer is passed on as it arrives. */
const SPLICE_FROM_BYTES = 1024 * 1024;
const SPLICED_BYTES_MAX = 256 * 1024 * 1024;
/** The brackets that may open a long answer, with their closers. */
const CLOSING: ReadonlyMap<number, number> = new Map([
  [0x7b, 0x7d],
  [0x5b, 0x5d],
]);

export class Splice {
  readonly #preamble: Buffer;
  readonly #sink: AnswerSink;
  #closing = 0;
  #lastByte = 0;
  /** The bytes of the answer passed on so far. */
  bytes = 0;

  /** `preamble` is sent before the answer. */
  constructor(preamble: Buffer, sink: AnswerSink) {
    this.#preamble = preamble;
    this.#sink = sink;
  }

  /** Whether an answer that begins like this can be passed on: good, JSON, and long. */
  takes(status: number, headers: IncomingHttpHeaders, body: AnswerBody): boolean {
    if (body.length <= SPLICE_FROM_BYTES || status < 200 || status >= 300) return false;
    return mediaTypeOf(headers["content-type"]).includes("json") && CLOSING.has(body.firstByte);
  }

  begin(body: AnswerBody): void {
    this.#closing = CLOSING.get(body.firstByte) ?? 0;
    this.#sink.content(this.#preamble);
    this.push(body.raw());
  }

  /** Returns false if the answer exceeds `SPLICED_BYTES_MAX`. */
  push(chunk: Buffer): boolean {
    this.bytes += chunk.length;
    if (this.bytes > SPLICED_BYTES_MAX) return false;
    const last = chunk.findLast((byte) => byte > 0x20);
    if (last !== undefined) this.#lastByte = last;
    this.#sink.content(chunk);
    return true;
  }

  /** The only check of an unparsed answer: it ends with the bracket that closes its first one. */
  get isWhole(): boolean {
    return this.#lastByte === this.#closing;
  }
}
