// Reads JSON as bytes: refuses texts that would cost far more than their size before parsing them, and edits members without rewriting the
// others (numbers, key order, duplicate keys).
import { isUtf8 } from "node:buffer";
import type { Json } from "./json.ts";
import { jsonText } from "./raw-json.ts";

const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Limits for any JSON text from a caller. Objects with many names are slow to check and copy, and long lists slow to walk. */
export const NAMES_MAX = 20_000;
export const VALUES_MAX = 200_000;
/** No real request is nested deeper, and deeper ones would overflow the stack when serialized. */
const DEPTH_MAX = 128;
/** A name takes at least `"":1,` and a value `1,`: a shorter text cannot exceed the limits, and is not scanned. */
const SCANNED_BYTES_MIN = Math.min(5 * NAMES_MAX, 2 * VALUES_MAX);
/** A native search costs as much as scanning this many bytes. */
const NEAR_BYTES = 24;

/** The position after the string that begins at `at`; the end of the bytes for an unterminated one. */
export function behindString(bytes: Buffer, at: number): number {
  const near = Math.min(bytes.length, at + NEAR_BYTES);
  let next = at + 1;
  for (; next < near; next++) {
    const byte = bytes[next];
    if (byte === QUOTE) return next + 1;
    if (byte === BACKSLASH) break;
  }
  for (let end = bytes.indexOf(QUOTE, next); end >= 0; end = bytes.indexOf(QUOTE, end + 1)) {
    let slashes = 0;
    while (bytes[end - 1 - slashes] === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end + 1;
  }
  return bytes.length;
}

/** The limit that a JSON text exceeds, in words; null for none. Skips the inside of long strings. */
export function tooMuchIn(bytes: Buffer): string | null {
  if (bytes.length < SCANNED_BYTES_MIN) return null;
  let names = 0;
  let values = 1;
  let isFirst = false;
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at] ?? 0;
    if (isFirst && byte > SPACE) {
      // A bracket is followed by a first value, unless it is empty.
      if (byte !== CLOSE_LIST && byte !== CLOSE_OBJECT) values++;
      isFirst = false;
    }
    if (byte === QUOTE) {
      at = behindString(bytes, at);
      continue;
    }
    if (byte === COLON) names++;
    else if (byte === COMMA) values++;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) isFirst = true;
    if (names > NAMES_MAX) return `more than ${NAMES_MAX} names of fields`;
    if (values > VALUES_MAX) return `more than ${VALUES_MAX} values`;
    at++;
  }
  return null;
}

function isTooDeep(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (depth === 0) return true;
  if (Array.isArray(value)) {
    for (const inner of value) if (isTooDeep(inner, depth - 1)) return true;
    return false;
  }
  // `Object.values` would allocate a list per object; JSON.parse makes only own properties.
  for (const key in value) if (isTooDeep((value as Json)[key], depth - 1)) return true;
  return false;
}

/** Parses a caller's JSON bytes, or says what is wrong; for a syntax error with its position. All bodies are read here. */
export function readJson(
  bytes: Buffer,
  parse: (text: string) => unknown = JSON.parse,
): { readonly json: unknown } | { readonly wrong: string } {
  // Invalid characters would be replaced by longer ones, which would change the prompt.
  if (!isUtf8(bytes)) return { wrong: "not valid UTF-8" };
  const tooMuch = tooMuchIn(bytes);
  if (tooMuch !== null) return { wrong: tooMuch };
  try {
    const json = parse(bytes.toString("utf8"));
    return isTooDeep(json, DEPTH_MAX) ? { wrong: `nested deeper than ${DEPTH_MAX} levels` } : { json };
  } catch (error) {
    return { wrong: `not valid JSON: ${error instanceof Error ? error.message.slice(0, 200) : "unreadable"}` };
  }
}

export function behindSpace(bytes: Buffer, at: number): number {
  let next = at;
  while (next < bytes.length && (bytes[next] ?? 0) <= SPACE) next++;
  return next;
}

/** The number of keys in all objects of a valid JSON text, duplicates included. */
export function keysIn(bytes: Buffer): number {
  let keys = 0;
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at];
    if (byte === QUOTE) at = behindString(bytes, at);
    else {
      if (byte === COLON) keys++;
      at++;
    }
  }
  return keys;
}

/** Whether the outermost object has `value` for a key, as written, such as `"stream"`; the last duplicate counts. Parses nothing. */
export function says(bytes: Buffer, key: string, value: string): boolean {
  if (!bytes.includes(key)) return false;
  let depth = 0;
  let said = false;
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      const behind = behindString(bytes, at);
      const isKey = depth === 1 && behind - at === key.length && bytes.toString("latin1", at, behind) === key;
      const colon = isKey ? behindSpace(bytes, behind) : -1;
      if (bytes[colon] === COLON) {
        const start = behindSpace(bytes, colon + 1);
        said = bytes.toString("latin1", start, start + value.length) === value;
      }
      at = behind;
      continue;
    }
    if (byte === OPEN_LIST || byte === OPEN_OBJECT) depth++;
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--;
    at++;
  }
  return said;
}

/** The position of a member of the outermost object, from its key to the end of its value. */
export interface Member {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

export function membersOf(bytes: Buffer): readonly Member[] {
  const members: Member[] = [];
  let depth = 0;
  let start = -1;
  let name = "";
  let end = -1;
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) {
      const behind = behindString(bytes, at);
      if (depth === 1 && start < 0) {
        start = at;
        name = String(JSON.parse(bytes.toString("utf8", at, behind)));
      }
      at = end = behind;
      continue;
    }
    if (depth === 1 && start >= 0 && (byte === COMMA || byte === CLOSE_OBJECT)) {
      members.push({ name, start, end });
      start = -1;
    }
    if (byte === OPEN_LIST || byte === OPEN_OBJECT) depth++;
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--;
    at++;
    if (byte > 0x20) end = at;
  }
  return members;
}

export function memberValue(bytes: Buffer, { start, end }: Member): { readonly start: number; readonly end: number } {
  const colon = behindSpace(bytes, behindString(bytes, start));
  return { start: behindSpace(bytes, colon + 1), end };
}

/**
 * Replaces members of a valid JSON object, and removes those whose new value is undefined; every other member stays as it is, byte for
 * byte. New members are appended, and after them the one named `last`.
 */
export function withMembers(bytes: Buffer, changes: Readonly<Record<string, unknown>>, last?: string): Buffer {
  const written = new Set<string>();
  const parts: Buffer[] = [];
  const put = (part: Buffer) => parts.push(Buffer.from(parts.length === 0 ? "{" : ","), part);
  const changed = (name: string) => {
    written.add(name);
    const value = changes[name];
    if (value !== undefined) put(Buffer.from(`${JSON.stringify(name)}:${jsonText(value)}`));
  };
  const keep = ({ name, start, end }: Member) => {
    if (Object.hasOwn(changes, name)) changed(name);
    else put(bytes.subarray(start, end));
  };
  const members = membersOf(bytes);
  for (const member of members) if (member.name !== last) keep(member);
  for (const name of Object.keys(changes)) if (!written.has(name) && name !== last) changed(name);
  for (const member of members) if (member.name === last) keep(member);
  if (parts.length === 0) parts.push(Buffer.from("{"));
  return Buffer.concat([...parts, Buffer.from("}")]);
}
