// The lines of an answer's head: the words of a status, such as `404 Not Found`, and headers.
import { STATUS_CODES } from "node:http";

const LINES = new Map(Object.entries(STATUS_CODES).map(([code, words]) => [Number(code), `${code} ${words}`]));

/** A status as it stands in the first line of an answer; one that HTTP has no words for gets a word of ours. */
export function statusLine(status: number): string {
  return LINES.get(status) ?? `${status} Status`;
}

const UNSAFE = /[^\t\x20-\x7e]/;
const ALL_UNSAFE = new RegExp(UNSAFE, "g");

/** A header as it stands in the head, behind the line before it. A line break in a value would begin a header of the sender's choice. */
export function headerLine(name: string, value: string): string {
  return `\r\n${name}: ${UNSAFE.test(value) ? value.replace(ALL_UNSAFE, "?") : value}`;
}
