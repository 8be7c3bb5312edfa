// Collects a whole answer up to a size limit, and parses it as JSON.
import { parseRaw } from "../core/raw-json.ts";

export const ANSWER_BYTES_MAX = 32 * 1024 * 1024;

export class UnaryBody {
  readonly #bytesMax: number;
  #chunks: Buffer[] = [];
  #length = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Returns false once the body exceeds its limit, and drops all of it. */
  push(chunk: Buffer): boolean {
    this.#length += chunk.length;
    if (this.#length > this.#bytesMax) {
      this.#chunks = [];
      return false;
    }
    this.#chunks.push(chunk);
    return true;
  }

  text(): string {
    const [only] = this.#chunks;
    if (this.#chunks.length === 1 && only !== undefined) return only.toString("utf8");
    return Buffer.concat(this.#chunks).toString("utf8");
  }

  json(): unknown {
    const text = this.text();
    try {
      return parseRaw(text);
    } catch {
      return text;
    }
  }
}
