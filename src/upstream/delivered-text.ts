// Keeps the text of a stream, cheaply and up to a limit, for counting tokens if the vendor reports no usage.

/** About the longest answer we sell. Beyond it, tokens follow from the bytes. Thousands of streams keep this at once. */
const KEPT_BYTES_MAX = 98_304;

const EMPTY: Buffer = Buffer.alloc(0);

export class DeliveredText {
  #kept: Buffer = EMPTY;
  #length = 0;
  #bytes = 0;

  /** Appends JSON-escaped UTF-8 text. */
  add(bytes: Buffer, start: number, end: number): void {
    const size = end - start;
    this.#bytes += size;
    if (this.#length + size > KEPT_BYTES_MAX) return;
    if (this.#length + size > this.#kept.length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(KEPT_BYTES_MAX, Math.max(256, (this.#length + size) * 2)));
      this.#kept.copy(grown, 0, 0, this.#length);
      this.#kept = grown;
    }
    bytes.copy(this.#kept, this.#length, start, end);
    this.#length += size;
  }

  addText(text: string): void {
    if (text === "") return;
    const escaped = Buffer.from(JSON.stringify(text));
    this.add(escaped, 1, escaped.length - 1);
  }

  /** The kept part as plain text, and the size of the whole in bytes of escaped text. */
  read(): { text: string; bytes: number } {
    const escaped = this.#kept.toString("utf8", 0, this.#length);
    return { text: unescaped(escaped), bytes: this.#bytes };
  }
}

/** Fragments were escaped separately, so together they form one JSON string, unless the vendor split a surrogate pair. */
function unescaped(escaped: string): string {
  try {
    return JSON.parse(`"${escaped}"`) as string;
  } catch {
    return escaped;
  }
}
