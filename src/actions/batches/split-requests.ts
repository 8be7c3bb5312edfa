// Finds the requests in the body of a batch of the messages wire without parsing it: together they may have more fields than one JSON may.
import { behindSpace, behindString } from "../../core/json-bytes.ts";
import type { Steps } from "../../core/slices.ts";

const [SPACE, QUOTE, COLON, COMMA] = [0x20, 0x22, 0x3a, 0x2c];
const OPENS: readonly number[] = [0x5b, 0x7b];
const CLOSES: readonly number[] = [0x5d, 0x7d];
const LIST = 0x5b;
const NAME = '"requests"';
const LINE_BREAKS = /[\r\n]+/g;
const STEP = 4_096;

export interface SplitBody {
  /** The body with an empty list of requests. */
  readonly rest: Buffer;
  /** Each request on one line, with its line break. */
  readonly lines: readonly Buffer[];
}

/** The position of the list whose name begins at `at`; -1: another name. */
function listNamedAt(bytes: Buffer, at: number, behind: number): number {
  if (bytes.toString("latin1", at, behind) !== NAME) return -1;
  const colon = behindSpace(bytes, behind);
  const value = behindSpace(bytes, colon + 1);
  return bytes[colon] === COLON && bytes[value] === LIST ? value : -1;
}

/** Splits the body at its `requests`; null if it has none. */
export function* splitRequests(bytes: Buffer, linesMax: number): Steps<SplitBody | null> {
  const lines: Buffer[] = [];
  let list = -1;
  let listEnd = -1;
  let depth = 0;
  let start = -1;
  const end = (at: number) => {
    if (start < 0) return;
    // Raw line breaks in JSON can only be blanks.
    lines.push(Buffer.from(`${bytes.toString("utf8", start, at).replace(LINE_BREAKS, " ")}\n`));
    start = -1;
  };
  for (let at = 0, steps = 1; at < bytes.length && lines.length <= linesMax; steps++) {
    if (steps % STEP === 0) yield;
    const byte = bytes[at] ?? 0;
    const isInList = list >= 0 && listEnd < 0;
    if (isInList && depth === 2 && start < 0 && byte > SPACE && byte !== COMMA && !CLOSES.includes(byte)) start = at;
    if (byte === QUOTE) {
      const behind = behindString(bytes, at);
      const named = depth === 1 && list < 0 ? listNamedAt(bytes, at, behind) : -1;
      if (named >= 0) {
        list = named;
        depth = 2;
      }
      at = named >= 0 ? named + 1 : behind;
      continue;
    }
    if (OPENS.includes(byte)) depth++;
    if (CLOSES.includes(byte)) depth--;
    if (isInList && ((byte === COMMA && depth === 2) || depth === 1)) end(at);
    if (isInList && depth === 1) listEnd = at;
    at++;
  }
  if (list < 0 || (listEnd < 0 && lines.length <= linesMax)) return null;
  return { rest: Buffer.concat([bytes.subarray(0, list + 1), bytes.subarray(listEnd)]), lines };
}
