// The lines of an answer's head: the words of a status, such as `404 Not Found`, and headers.
import { STATUS_CODES } from "../../core/node-http.ts";

const LINES = new Map(Object.entries(STATUS_CODES).map(([code, words]) => [Number(code), `${code} ${words}`]));

/** A status as it stands in the first line of an answer; one that HTTP has no words for gets a word of ours. */
export function statusLine(status: number): string {
  return LINES.get(status) ?? `${status} Status`;
}

/** A part that makes a header of callers' words bounds it itself, in a way that can still be read; beyond this no client would take the head. */
const VALUE_CHARS_MAX = 8_000;
const UNSAFE = /[^\t\x20-\x7e]/;
const ALL_UNSAFE = new RegExp(UNSAFE, "g");

/** A header as it stands in the head, behind the line before it. A line break in a value would begin a header of the sender's choice. */
export function headerLine(name: string, whole: string): string {
  const value = whole.length > VALUE_CHARS_MAX ? whole.slice(0, VALUE_CHARS_MAX) : whole;
  return `\r\n${name}: ${UNSAFE.test(value) ? value.replace(ALL_UNSAFE, "?") : value}`;
}
