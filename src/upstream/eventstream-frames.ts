// Splits AWS's binary event stream (application/vnd.amazon.eventstream) into events, with the interface of the SSE scanner.
import { crc32 } from "node:zlib";
import { isRecord, parsedJson } from "../core/json.ts";
import { EventTooLarge, type OnEvent } from "./sse-scanner.ts";

/** The total length, the length of the headers, and the checksum of both. */
const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;
/** The size of a header value by its type; types 6 and 7 carry their length. */
const VALUE_BYTES: Readonly<Record<number, number>> = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 };

/** A frame has a wrong checksum, or inconsistent lengths. */
export class BrokenFrame extends Error {}

/** Reports a frame in which the vendor signals an exception. */
export type OnException = (type: string, message: string) => void;

function headersOf(bytes: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (let at = 0; at < bytes.length; ) {
    const nameEnd = at + 1 + (bytes[at] ?? 0);
    const type = bytes[nameEnd] ?? 0;
    const sized = type === 6 || type === 7;
    const from = nameEnd + (sized ? 3 : 1);
    if (from > bytes.length) throw new BrokenFrame("a header ends within itself");
    const to = from + (sized ? bytes.readUInt16BE(nameEnd + 1) : (VALUE_BYTES[type] ?? bytes.length));
    if (to > bytes.length) throw new BrokenFrame("a header ends within itself");
    if (type === 7) headers.set(bytes.toString("utf8", at + 1, nameEnd), bytes.toString("utf8", from, to));
    at = to;
  }
  return headers;
}

/** Unwraps events of another wire, each sent as `{"bytes": "<base64>"}`. */
function unwrapped(payload: Buffer): Buffer {
  const json = parsedJson(payload.toString());
  return isRecord(json) && typeof json.bytes === "string" ? Buffer.from(json.bytes, "base64") : payload;
}

export class EventstreamFrames {
  readonly #onEvent: OnEvent;
  readonly #onException: OnException;
  readonly #eventBytesMax: number;
  /** The pieces of an incomplete frame, and the size at which parsing is worth another try. */
  #pieces: Buffer[] = [];
  #bytes = 0;
  #wanted = PRELUDE_BYTES;
  #stopped = false;

  constructor(onEvent: OnEvent, onException: OnException, eventBytesMax: number) {
    this.#onEvent = onEvent;
    this.#onException = onException;
    this.#eventBytesMax = eventBytesMax;
  }

  /** Reads one chunk, as the SSE scanner does. Throws EventTooLarge, and BrokenFrame if a frame is corrupt. */
  push(chunk: Buffer): boolean {
    this.#stopped = false;
    this.#pieces.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < this.#wanted) {
      // The connection owns the chunk and may reuse its memory before the next one arrives.
      this.#pieces[this.#pieces.length - 1] = Buffer.from(chunk);
      return true;
    }
    let bytes = this.#pieces.length === 1 ? chunk : Buffer.concat(this.#pieces);
    this.#wanted = PRELUDE_BYTES;
    while (bytes.length >= PRELUDE_BYTES && !this.#stopped) {
      const length = this.#lengthOf(bytes);
      if (bytes.length < length) {
        this.#wanted = length;
        break;
      }
      this.#frame(bytes.subarray(0, length));
      bytes = bytes.subarray(length);
    }
    this.#pieces = bytes.length === 0 ? [] : [Buffer.from(bytes)];
    this.#bytes = bytes.length;
    return !this.#stopped || bytes.length === 0;
  }

  #lengthOf(bytes: Buffer): number {
    const length = bytes.readUInt32BE(0);
    if (bytes.readUInt32BE(8) !== crc32(bytes.subarray(0, 8))) throw new BrokenFrame("a prelude's checksum is wrong");
    if (length > this.#eventBytesMax) throw new EventTooLarge("a frame is too large");
    if (length < PRELUDE_BYTES + CHECKSUM_BYTES) throw new BrokenFrame("a frame is shorter than its frame");
    return length;
  }

  /** Ends the stream; drops an incomplete frame. */
  end(): void {}

  #frame(frame: Buffer): void {
    const headersEnd = PRELUDE_BYTES + frame.readUInt32BE(4);
    const end = frame.length - CHECKSUM_BYTES;
    if (headersEnd > end) throw new BrokenFrame("a frame is shorter than its headers");
    if (frame.readUInt32BE(end) !== crc32(frame.subarray(0, end))) throw new BrokenFrame("a frame's checksum is wrong");
    const headers = headersOf(frame.subarray(PRELUDE_BYTES, headersEnd));
    const payload = frame.subarray(headersEnd, end);
    const kind = headers.get(":message-type");
    if (kind === "exception" || kind === "error") {
      const said = parsedJson(payload.toString());
      const message = isRecord(said) && typeof said.message === "string" ? said.message : headers.get(":error-message");
      const type = headers.get(":exception-type") ?? headers.get(":error-code") ?? "unknown";
      return this.#onException(type, message ?? type);
    }
    const name = headers.get(":event-type") ?? null;
    const data = name === "chunk" ? unwrapped(payload) : payload;
    this.#stopped = this.#onEvent(data, 0, data.length, name === "chunk" ? null : name) === false;
  }
}
