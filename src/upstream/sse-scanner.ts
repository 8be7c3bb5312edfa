// Splits upstream bytes into server-sent events without copying: the first step for every chunk.

const LF = 10;
const CR = 13;
const COLON = 58;
const SPACE = 32;
/** U+FEFF, read as Latin-1. Some servers begin a stream with it. */
const BYTE_ORDER_MARK = "\u00ef\u00bb\u00bf";

/** Called per event: `bytes[start, end)` is valid only during the call; `name` is its `event:` field. False pauses the scanner. */
export type OnEvent = (bytes: Buffer, start: number, end: number, name: string | null) => unknown;

export class EventTooLarge extends Error {}

const EMPTY: Buffer = Buffer.alloc(0);

/** `held` where it has room for more than its first `length` bytes, else a copy of twice the size, so that the total work stays linear. */
function withRoom(held: Buffer, length: number, more: number): Buffer {
  const needed = length + more;
  if (needed <= held.length) return held;
  const larger = Buffer.allocUnsafe(Math.max(1024, needed * 2));
  held.copy(larger, 0, 0, length);
  return larger;
}

/** Whether a line begins with `data:`. Compares bytes, because decoding each line would cost more than everything else. */
function isData(bytes: Buffer, start: number, end: number): boolean {
  return (
    end - start > 4 &&
    bytes[start] === 100 &&
    bytes[start + 1] === 97 &&
    bytes[start + 2] === 116 &&
    bytes[start + 3] === 97 &&
    bytes[start + 4] === COLON
  );
}

/**
 * An incremental scanner of `text/event-stream` (WHATWG HTML, 9.2.6) for LF and CRLF line ends. Passes on data in place where it arrives
 * in one piece; copies only what is split over chunks or lines.
 */
export class SseScanner {
  readonly #onEvent: OnEvent;
  readonly #eventBytesMax: number;
  /** The beginning of an incomplete line. */
  #line: Buffer = EMPTY;
  #lineLength = 0;
  /** The data of the current event: a view of the current chunk, or our own copy. */
  #data = EMPTY;
  #dataStart = 0;
  #dataEnd = 0;
  #hasData = false;
  #dataIsCopy = false;
  #copy = EMPTY;
  #name: string | null = null;
  /** The unread bytes after the event at which it paused. */
  #rest = EMPTY;
  #stopped = false;

  constructor(onEvent: OnEvent, eventBytesMax: number) {
    this.#onEvent = onEvent;
    this.#eventBytesMax = eventBytesMax;
  }

  /** Reads one chunk. Returns false if it paused; the next chunk, which may be empty, resumes it. Throws EventTooLarge. */
  push(piece: Buffer): boolean {
    const chunk = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    this.#rest = EMPTY;
    this.#stopped = false;
    let from = 0;
    if (this.#lineLength > 0) {
      const lineEnd = chunk.indexOf(LF);
      if (lineEnd < 0) {
        this.#keepLine(chunk, 0);
        return true;
      }
      this.#keepLine(chunk, 0, lineEnd);
      const length = this.#lineLength;
      this.#lineLength = 0;
      this.#readLine(this.#line, 0, length, true);
      from = lineEnd + 1;
    }
    const length = chunk.length;
    while (from < length && !this.#stopped) {
      const lineEnd = chunk.indexOf(LF, from);
      if (lineEnd < 0) {
        this.#keepLine(chunk, from);
        from = length;
        break;
      }
      this.#readLine(chunk, from, lineEnd, false);
      from = lineEnd + 1;
    }
    if (this.#hasData && !this.#dataIsCopy) this.#copyData();
    if (from < length) this.#rest = Buffer.from(chunk.subarray(from));
    return from >= length;
  }

  /** Ends the stream. Delivers an event that lacks its blank line, because some servers omit it. */
  end(): void {
    if (this.#lineLength > 0) {
      const length = this.#lineLength;
      this.#lineLength = 0;
      this.#readLine(this.#line, 0, length, true);
    }
    this.#dispatch();
  }

  #keepLine(chunk: Buffer, from: number, to: number = chunk.length): void {
    if (this.#lineLength + to - from > this.#eventBytesMax) throw new EventTooLarge("a line is too long");
    this.#line = withRoom(this.#line, this.#lineLength, to - from);
    chunk.copy(this.#line, this.#lineLength, from, to);
    this.#lineLength += to - from;
  }

  #readLine(bytes: Buffer, start: number, lineEnd: number, transient: boolean): void {
    const end = lineEnd > start && bytes[lineEnd - 1] === CR ? lineEnd - 1 : lineEnd;
    if (end === start) return this.#dispatch();
    // Fast path for "data:", the field of nearly every line.
    if (isData(bytes, start, end)) {
      return this.#addData(
        bytes,
        end > start + 5 && bytes[start + 5] === SPACE ? start + 6 : start + 5,
        end,
        transient,
      );
    }
    if (bytes[start] === COLON) return;
    const field = bytes.toString("latin1", start, Math.min(end, start + 300));
    if (field.startsWith(BYTE_ORDER_MARK) && !field.startsWith(BYTE_ORDER_MARK, 3))
      return this.#readLine(bytes, start + 3, lineEnd, transient);
    if (field.startsWith("event:")) this.#name = field.slice(6).trim();
    else if (field === "data") this.#addData(bytes, end, end, transient);
  }

  #addData(bytes: Buffer, start: number, end: number, transient: boolean): void {
    if (!this.#hasData) {
      this.#hasData = true;
      this.#dataIsCopy = false;
      this.#data = bytes;
      this.#dataStart = start;
      this.#dataEnd = end;
      if (transient) this.#copyData();
      return;
    }
    if (!this.#dataIsCopy) this.#copyData();
    if (this.#dataEnd + 1 + end - start > this.#eventBytesMax) throw new EventTooLarge("an event is too large");
    this.#copy = withRoom(this.#copy, this.#dataEnd, 1 + end - start);
    this.#copy[this.#dataEnd] = LF;
    bytes.copy(this.#copy, this.#dataEnd + 1, start, end);
    this.#data = this.#copy;
    this.#dataEnd += 1 + end - start;
  }

  #copyData(): void {
    this.#copy = withRoom(this.#copy, 0, this.#dataEnd - this.#dataStart);
    this.#data.copy(this.#copy, 0, this.#dataStart, this.#dataEnd);
    this.#dataEnd -= this.#dataStart;
    this.#dataStart = 0;
    this.#data = this.#copy;
    this.#dataIsCopy = true;
  }

  #dispatch(): void {
    const name = this.#name;
    this.#name = null;
    if (!this.#hasData) return;
    this.#hasData = false;
    const data = this.#data;
    if (this.#onEvent(data, this.#dataStart, this.#dataEnd, name) === false) this.#stopped = true;
    this.#data = EMPTY;
    // A rare huge event must not pin its memory for the rest of a long stream.
    if (this.#copy.length > 65_536) this.#copy = EMPTY;
    if (this.#line.length > 65_536) this.#line = EMPTY;
  }
}
