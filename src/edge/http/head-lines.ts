// The lines of an answer's head: the status, such as `404 Not Found`, and headers.
import { STATUS_CODES } from "../../core/node-http.ts";

const LINES = new Map(Object.entries(STATUS_CODES).map(([code, words]) => [Number(code), `${code} ${words}`]));

/** The status in an answer's first line; a status without a standard phrase gets one of ours. */
export function statusLine(status: number): string {
  return LINES.get(status) ?? `${status} Status`;
}

/** The code that builds a header from caller input limits its length readably; beyond this length no client would accept the head. */
const VALUE_CHARS_MAX = 8_000;
const UNSAFE = /[^\t\x20-\x7e]/;
const ALL_UNSAFE = new RegExp(UNSAFE, "g");

/** A header with the line break before it. A line break in a value would let its sender inject another header. */
export function headerLine(name: string, whole: string): string {
  const value = whole.length > VALUE_CHARS_MAX ? whole.slice(0, VALUE_CHARS_MAX) : whole;
  return `\r\n${name}: ${UNSAFE.test(value) ? value.replace(ALL_UNSAFE, "?") : value}`;
}
