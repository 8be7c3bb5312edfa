// The lines of the request log, in any store: a call's ids in the clear, the rest sealed.
import { isRecord, stringOf } from "../../core/json.ts";

const LINE_BREAK = 10;

/** The unsealed part of each line. */
export interface LoggedName {
  readonly at: string;
  readonly transactionId: string;
  readonly requestId: string;
  readonly accountId: string;
}

export interface LogLine extends LoggedName {
  readonly sealed: string;
}

/** A line as written, and its owner. */
export interface WrittenLine {
  readonly accountId: string;
  readonly text: string;
}

export interface LogLook {
  /** Null: calls of all accounts. */
  readonly accountId: string | null;
  /** The most bytes to search. */
  readonly bytesMax: number;
}

export interface LogSearch extends LogLook {
  readonly id: string;
  /** When it began, by the clock of a possibly different process. */
  readonly beganMs: number;
}

export interface LogStore {
  /** How long lines wait to be batched. */
  readonly waitMs: number;
  /** A reader forces out lines that have waited this long. */
  readonly readAfterMs: number;
  /** Returns how many were stored, which need not be the first ones. Rejects if none was, for any reason but lack of space. */
  append(lines: readonly WrittenLine[], nowMs: number): Promise<number>;
  /** The newest calls. */
  newest(look: LogLook, limit: number): Promise<readonly LoggedName[]>;
  /** The sealed part of the call; null: not found. */
  sealed(search: LogSearch): Promise<string | null>;
  /** Stops all retries. */
  close(): void;
}

/** The longest call. A line is written when its call has ended, and clocks of machines differ, so the line is somewhere in this span. */
const CALL_MS_MAX = 2 * 3_600_000;
const CLOCKS_MS = 60_000;

export function writtenWithin({ beganMs }: LogSearch): { readonly fromMs: number; readonly toMs: number } {
  return { fromMs: beganMs - CLOCKS_MS, toMs: beganMs + CALL_MS_MAX };
}

/** Drops the seal, which can be a megabyte per line. */
export function nameOf({ at, transactionId, requestId, accountId }: LoggedName): LoggedName {
  return { at, transactionId, requestId, accountId };
}

export function newestFirst(a: LoggedName, b: LoggedName): number {
  return b.at.localeCompare(a.at);
}

/** The text by which a line of an account, or of a call, can be found. */
export function wordOf(id: string | null): string {
  return id === null ? "" : JSON.stringify(id);
}

/** Null for an incomplete line of a process that died while writing. */
function lineIn(bytes: Buffer): LogLine | null {
  try {
    const json: unknown = JSON.parse(bytes.toString("utf8"));
    if (!isRecord(json)) return null;
    const [at, transactionId, requestId, accountId, sealed] = [
      ...["at", "transactionId", "requestId", "accountId", "sealed"].map((name) => stringOf(json[name]) ?? ""),
    ] as [string, string, string, string, string];
    return { at, transactionId, requestId, accountId, sealed };
  } catch {
    return null;
  }
}

export async function* linesIn(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  word: string,
): AsyncGenerator<LogLine> {
  let rest = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const bytes = Buffer.concat([rest, chunk]);
    let from = 0;
    for (let end = bytes.indexOf(LINE_BREAK); end >= 0; end = bytes.indexOf(LINE_BREAK, from)) {
      const one = bytes.subarray(from, end);
      const line = one.includes(word) ? lineIn(one) : null;
      if (line !== null) yield line;
      from = end + 1;
    }
    rest = bytes.subarray(from);
  }
}
