// Collects a vendor's answer up to a size limit, and parses it where it is JSON.
import type { IncomingHttpHeaders } from "node:http";
import { ANSWER_BYTES_MAX } from "./unary-body.ts";

/** Text types, and JSON and XML types by their suffix (RFC 6839). Case-insensitive. */
const TEXT = /^(text\/|application\/(json|xml|javascript|(x-)?ndjson)|[^;]*\+(json|xml))/i;

export function isTextType(contentType: string): boolean {
  return TEXT.test(contentType.trim());
}

export class AnswerBody {
  readonly #type: string;
  #chunks: Buffer[] = [];
  length = 0;
  /** The first byte that is not whitespace; 0 until one arrives. */
  firstByte = 0;

  constructor(headers: IncomingHttpHeaders) {
    this.#type = String(headers["content-type"] ?? "");
  }

  /** Returns false once the body exceeds `ANSWER_BYTES_MAX`, and drops all of it. */
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

  raw(): Buffer {
    const [only] = this.#chunks;
    return this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks);
  }

  /** Reads the whole body. `json` is undefined if it is not JSON; `text` is empty if it is not text. */
  read(): { readonly json: unknown; readonly text: string; readonly bytes: Buffer } {
    const bytes = this.raw();
    const start = bytes[0] ?? 0;
    const isText = this.#type === "" || isTextType(this.#type) || start === 0x7b || start === 0x5b;
    // JSON must not begin with a byte order mark (RFC 8259, 8.1); in UTF-8 it carries no information.
    const whole = isText ? bytes.toString("utf8") : "";
    const text = whole.startsWith("\uFEFF") ? whole.slice(1) : whole;
    try {
      return { json: JSON.parse(text), text, bytes };
    } catch {
      return { json: undefined, text, bytes };
    }
  }
}
