// The words of a status: `404 Not Found`.
import { STATUS_CODES } from "node:http";

const LINES = new Map(Object.entries(STATUS_CODES).map(([code, words]) => [Number(code), `${code} ${words}`]));

/** A status as it stands in the first line of an answer; one that HTTP has no words for gets a word of ours. */
export function statusLine(status: number): string {
  return LINES.get(status) ?? `${status} Status`;
}
