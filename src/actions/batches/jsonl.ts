// Splits JSONL into lines in bounded memory, and reads what one line asks for.
import { GatewayError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import { membersOf, memberValue, readJson } from "../../core/json-bytes.ts";
import type { BatchWire } from "./batch-record.ts";

export const LINES_MAX = 50_000;
/** Longer lines are errors. Only the beginning of a long line is ever in memory. */
export const LINE_BYTES_MAX = 8 * 1024 * 1024;
const CUSTOM_ID_CHARS_MAX = 512;
const LINE_FEED = 0x0a;

export interface Line {
  /** The byte at which it begins. */
  readonly offset: number;
  /** From 1, blank lines included. */
  readonly number: number;
  /** Null: it is too long. */
  readonly bytes: Buffer | null;
}

function isBlank(bytes: Buffer): boolean {
  for (const byte of bytes) if (byte > 0x20) return false;
  return true;
}

/** The lines in order, without blank ones. Null: there are far more lines than a batch may have. */
export async function* linesIn(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Line | null> {
  let kept: Buffer[] = [];
  let keptBytes = 0;
  let isTooLong = false;
  let offset = 0;
  let number = 0;
  let read = 0;
  const keep = (part: Buffer) => {
    if (isTooLong || part.length === 0) return;
    keptBytes += part.length;
    isTooLong = keptBytes > LINE_BYTES_MAX;
    // Copied: a stream may reuse the memory of its parts.
    if (isTooLong) kept = [];
    else kept.push(Buffer.from(part));
  };
  const ended = (): Line | null => {
    number += 1;
    const bytes = isTooLong ? null : Buffer.concat(kept);
    const line = { offset, number, bytes };
    kept = [];
    keptBytes = 0;
    isTooLong = false;
    return bytes !== null && isBlank(bytes) ? null : line;
  };
  for await (const part of parts) {
    const bytes = Buffer.from(part.buffer, part.byteOffset, part.length);
    let from = 0;
    for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, from)) {
      keep(bytes.subarray(from, at));
      const line = ended();
      from = at + 1;
      offset = read + from;
      if (line !== null) yield line;
      if (number > 2 * LINES_MAX) {
        yield null;
        return;
      }
    }
    keep(bytes.subarray(from));
    read += bytes.length;
  }
  const last = ended();
  if (last !== null) yield last;
}

/** What a good line asks for. */
export interface LineAsk {
  readonly customId: string;
  /** The body, byte for byte as sent. */
  readonly body: Buffer;
}

/** Why a line cannot run; null: its `custom_id` could not be read. */
export interface BadLine {
  readonly customId: string | null;
  readonly error: GatewayError;
}

function bad(customId: string | null, detail: string): BadLine {
  return { customId, error: new GatewayError("bad_request", { detail }) };
}

/** Reads a line for a batch of calls of `path`. A line of the messages wire names no path, and has its body as `params`. */
export function readLine(bytes: Buffer | null, path: string, wire: BatchWire): LineAsk | BadLine {
  if (bytes === null) return bad(null, `The line is longer than ${LINE_BYTES_MAX / 1_048_576} MiB.`);
  const read = readJson(bytes);
  if ("wrong" in read) return bad(null, `The line is ${read.wrong}.`);
  const { json } = read;
  if (!isRecord(json)) return bad(null, "The line must be a JSON object.");
  const name = wire === "messages" ? "params" : "body";
  const { custom_id: id, method = "POST", url = wire === "messages" ? path : null, [name]: body } = json;
  if (typeof id !== "string" || id === "" || id.length > CUSTOM_ID_CHARS_MAX)
    return bad(null, `custom_id: must be text of at most ${CUSTOM_ID_CHARS_MAX} characters`);
  if (!id.isWellFormed()) return bad(null, "custom_id: must be text without half characters");
  if (method !== "POST") return bad(id, "method: must be POST");
  if (url !== path) return bad(id, `url: must be ${path}, the endpoint of the batch`);
  const member = membersOf(bytes).findLast((one) => one.name === name);
  if (!isRecord(body) || member === undefined) return bad(id, `${name}: must be an object`);
  if (body.stream === true) return bad(id, `${name}.stream: not possible in a batch`);
  const { start, end } = memberValue(bytes, member);
  return { customId: id, body: Buffer.from(bytes.subarray(start, end)) };
}
