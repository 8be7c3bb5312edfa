// Keeps what a stream delivered, cheaply and within a bound, so that tokens can be counted should no usage come.

/**
 * About as much as the longest answer we sell. Beyond it the text is counted in bytes only, and its tokens by the ratio
 * found in what was kept. Thousands of streams keep this at once, so it must not be generous.
 */
const KEPT_BYTES_MAX = 98_304;

const EMPTY: Buffer = Buffer.alloc(0);

export class DeliveredText {
  #kept: Buffer = EMPTY;
  #length = 0;
  #bytes = 0;

  /** Adds JSON-escaped UTF-8 text. */
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

  /** What was kept, as plain text, and the count of all that came, in bytes of escaped text. */
  read(): { text: string; bytes: number } {
    const escaped = this.#kept.toString("utf8", 0, this.#length);
    return { text: unescaped(escaped), bytes: this.#bytes };
  }
}

/** Fragments were escaped one by one, so their concatenation is one JSON string unless a vendor broke a pair. */
function unescaped(escaped: string): string {
  try {
    return JSON.parse(`"${escaped}"`) as string;
  } catch {
    return escaped;
  }
}
