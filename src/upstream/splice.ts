// Passes a long answer on as it comes, unparsed, where it need not be looked into.
import type { IncomingHttpHeaders } from "node:http";
import { mediaTypeOf } from "../core/event-stream.ts";
import type { AnswerSink } from "../core/route.ts";
import type { AnswerBody } from "./answer-body.ts";

/** The bytes that a good answer may have before it is passed on as it comes. */
const SPLICE_FROM_BYTES = 1024 * 1024;
const SPLICED_BYTES_MAX = 256 * 1024 * 1024;
/** The brackets that a long answer may begin with, and those that end it. */
const CLOSING: ReadonlyMap<number, number> = new Map([
  [0x7b, 0x7d],
  [0x5b, 0x5d],
]);

export class Splice {
  readonly #preamble: Buffer;
  readonly #sink: AnswerSink;
  #closing = 0;
  #lastByte = 0;
  /** Those of the answer that have been passed on. */
  bytes = 0;

  /** `preamble` goes out before the answer. */
  constructor(preamble: Buffer, sink: AnswerSink) {
    this.#preamble = preamble;
    this.#sink = sink;
  }

  /** Whether the answer whose beginning this is can be passed on: a good one, of JSON, that has become long. */
  takes(status: number, headers: IncomingHttpHeaders, body: AnswerBody): boolean {
    if (body.length <= SPLICE_FROM_BYTES || status < 200 || status >= 300) return false;
    return mediaTypeOf(headers["content-type"]).includes("json") && CLOSING.has(body.firstByte);
  }

  begin(body: AnswerBody): void {
    this.#closing = CLOSING.get(body.firstByte) ?? 0;
    this.#sink.content(this.#preamble);
    this.push(body.raw());
  }

  /** False: the answer is longer than anything that is passed on. */
  push(chunk: Buffer): boolean {
    this.bytes += chunk.length;
    if (this.bytes > SPLICED_BYTES_MAX) return false;
    const last = chunk.findLast((byte) => byte > 0x20);
    if (last !== undefined) this.#lastByte = last;
    this.#sink.content(chunk);
    return true;
  }

  /** Unparsed, an answer is held to this much: that it ends with the bracket which closes the first one. */
  get isWhole(): boolean {
    return this.#lastByte === this.#closing;
  }
}
