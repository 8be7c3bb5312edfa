// Collects a vendor's answer under a bound, undoes its compression under the same bound, and reads it as JSON where it is.
import type { IncomingHttpHeaders } from "node:http";
import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import { isTextType } from "./text-type.ts";
import { ANSWER_BYTES_MAX } from "./unary-body.ts";

const DECODERS: ReadonlyMap<string, (bytes: Buffer, options: { maxOutputLength: number }) => Buffer> = new Map([
  ["gzip", gunzipSync],
  ["x-gzip", gunzipSync],
  ["deflate", inflateSync],
  ["br", brotliDecompressSync],
]);

export class AnswerBody {
  readonly #encoding: string;
  readonly #type: string;
  #chunks: Buffer[] = [];
  #decoded: Buffer | null = null;
  length = 0;
  /** The first byte that is no white space; 0 while there is none. */
  firstByte = 0;

  constructor(headers: IncomingHttpHeaders) {
    this.#encoding = String(headers["content-encoding"] ?? "identity").toLowerCase();
    this.#type = String(headers["content-type"] ?? "");
  }

  /** Whether the bytes are not the body itself. */
  get encoded(): boolean {
    return this.#encoding !== "identity" && this.#encoding !== "";
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

  /** The body itself; null where it cannot be decoded, or only into more than can be kept. */
  decoded(): Buffer | null {
    if (this.#decoded !== null) return this.#decoded;
    if (!this.encoded) {
      this.#decoded = this.raw();
      return this.#decoded;
    }
    try {
      this.#decoded = DECODERS.get(this.#encoding)?.(this.raw(), { maxOutputLength: ANSWER_BYTES_MAX }) ?? null;
    } catch {
      this.#decoded = null;
    }
    return this.#decoded;
  }

  /** The whole body, read: `json` is undefined where it is none, `text` empty where it is no text. */
  read(): { readonly json: unknown; readonly text: string; readonly bytes: Buffer } | null {
    const bytes = this.decoded();
    if (bytes === null) return null;
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
