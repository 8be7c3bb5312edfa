// From the bytes of a body to JSON: refuses what is no UTF-8, and what would cost far more memory than it has bytes.
import { isUtf8 } from "node:buffer";
import { GatewayError } from "../errors.ts";
import type { Json } from "../json.ts";
import { behindString } from "../json-bytes.ts";

/** Nothing a model is asked is nested deeper, and what is could not be written down again without overflowing. */
const DEPTH_MAX = 128;
/** The parser needs up to fifty bytes for a bracket or a key: 32 MiB of them would be more than a gigabyte. */
const MARKS_MAX = 1_000_000;

const QUOTE = 0x22;
const COLON = 0x3a;
const OPENING = [0x5b, 0x7b];

/** Says what is wrong with the field `param` of a body; an empty one means the body itself. */
export function invalid(param: string, detail: string): GatewayError {
  const named = param === "" ? {} : { param };
  return new GatewayError("bad_request", { ...named, detail: { detail: `${param || "body"}: ${detail}` } });
}

/** Whether there are more objects, arrays and keys than `MARKS_MAX`. Looks at no byte inside of strings. */
function isTooMuch(bytes: Buffer): boolean {
  let marks = 0;
  let at = 0;
  while (at < bytes.length && marks <= MARKS_MAX) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) {
      at = behindString(bytes, at);
      continue;
    }
    if (byte === COLON || OPENING.includes(byte)) marks++;
    at++;
  }
  return marks > MARKS_MAX;
}

function isTooDeep(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (depth === 0) return true;
  if (Array.isArray(value)) {
    for (const inner of value) if (isTooDeep(inner, depth - 1)) return true;
    return false;
  }
  // `Object.values` would make a list of every object; in what JSON.parse made there is nothing else to find.
  for (const key in value) if (isTooDeep((value as Json)[key], depth - 1)) return true;
  return false;
}

/** The body as JSON; the message names the place of a syntax error as the parser gives it. */
export function parseJson(bytes: Buffer): unknown | GatewayError {
  // Broken characters would be replaced by longer ones, and the prompt would be another than the one that was sent.
  if (!isUtf8(bytes)) return invalid("", "not valid UTF-8");
  if (bytes.length > MARKS_MAX && isTooMuch(bytes)) {
    return invalid("", `more than ${MARKS_MAX} objects, arrays and keys`);
  }
  try {
    const json: unknown = JSON.parse(bytes.toString("utf8"));
    return isTooDeep(json, DEPTH_MAX) ? invalid("", `nested deeper than ${DEPTH_MAX} levels`) : json;
  } catch (error) {
    return invalid("", `not valid JSON: ${error instanceof Error ? error.message.slice(0, 200) : "unreadable"}`);
  }
}
