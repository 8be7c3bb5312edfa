// Collects a vendor's answer under a bound, and reads it as JSON where it is.
import type { IncomingHttpHeaders } from "node:http";
import { isTextType } from "./text-type.ts";
import { ANSWER_BYTES_MAX } from "./unary-body.ts";

export class AnswerBody {
  readonly #type: string;
  #chunks: Buffer[] = [];
  length = 0;
  /** The first byte that is no white space; 0 while there is none. */
  firstByte = 0;

  constructor(headers: IncomingHttpHeaders) {
    this.#type = String(headers["content-type"] ?? "");
  }

  /** False: there are more bytes than can be kept, and they are dropped. */
  push(chunk: Buffer): boolean {
    this.length += chunk.length;
    if (this.length > ANSWER_BYTES_MAX) {
      this.#chunks = [];
      return false;
    }
    this.#chunks.push(chunk);
    if (this.firstByte === 0) this.firstByte = chunk.find((byte) => byte > 0x20) ?? 0;
    return true;
  }

  /** The bytes so far, as they came. */
  raw(): Buffer {
    const [only] = this.#chunks;
    return this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks);
  }

  /** The whole body, read: `json` is undefined where it is none, `text` empty where it is no text. */
  read(): { readonly json: unknown; readonly text: string; readonly bytes: Buffer } {
    const bytes = this.raw();
    const start = bytes[0] ?? 0;
    const isText = this.#type === "" || isTextType(this.#type) || start === 0x7b || start === 0x5b;
    // A byte order mark says nothing in UTF-8, and is no JSON (RFC 8259, 8.1).
    const whole = isText ? bytes.toString("utf8") : "";
    const text = whole.startsWith("\uFEFF") ? whole.slice(1) : whole;
    try {
      return { json: JSON.parse(text), text, bytes };
    } catch {
      return { json: undefined, text, bytes };
    }
  }
}
