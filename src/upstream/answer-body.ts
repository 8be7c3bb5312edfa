// Collects a vendor's answer up to a size limit, and parses it where it is JSON.
import type { IncomingHttpHeaders } from "node:http";
import { ChunkList } from "../core/chunk-list.ts";
import { parseRaw } from "../core/raw-json.ts";

export const ANSWER_BYTES_MAX = 32 * 1024 * 1024;

/** Text types, and JSON and XML types by their suffix (RFC 6839). Case-insensitive. */
const TEXT = /^(text\/|application\/(json|xml|javascript|(x-)?ndjson)|[^;]*\+(json|xml))/i;

export function isTextType(contentType: string): boolean {
  return TEXT.test(contentType.trim());
}

export class AnswerBody {
  readonly #type: string;
  readonly #bytesMax: number;
  readonly #chunks = new ChunkList();
  length = 0;
  /** The first byte that is not whitespace; 0 until one arrives. */
  firstByte = 0;

  constructor(headers: IncomingHttpHeaders, bytesMax = ANSWER_BYTES_MAX) {
    this.#type = String(headers["content-type"] ?? "");
    this.#bytesMax = bytesMax;
  }

  /** Returns false once the body exceeds its limit, and drops all of it. */
  push(chunk: Buffer): boolean {
    this.length += chunk.length;
    if (this.length > this.#bytesMax) {
      this.#chunks.take();
      return false;
    }
    this.#chunks.push(chunk);
    if (this.firstByte === 0) this.firstByte = chunk.find((byte) => byte > 0x20) ?? 0;
    return true;
  }

  /** Takes the bytes out. */
  raw(): Buffer {
    return this.#chunks.take();
  }

  /** Takes the body out as JSON with its numbers as written; as text if it is not JSON. */
  json(): unknown {
    const text = this.raw().toString("utf8");
    try {
      return parseRaw(text);
    } catch {
      return text;
    }
  }

  /** Takes the body out. `json` is undefined if it is not JSON; `text` is empty if it is not text. */
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
