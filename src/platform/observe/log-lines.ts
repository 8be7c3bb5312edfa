// The lines of the request log, wherever they lie: a call's name in the clear, and the rest of it sealed.
import { isRecord, stringOf } from "../../core/json.ts";

const LINE_BREAK = 10;

/** What stands before the seal in each line. */
export interface LoggedName {
  readonly at: string;
  readonly transactionId: string;
  readonly requestId: string;
  readonly accountId: string;
}

export interface LogLine extends LoggedName {
  readonly sealed: string;
}

/** A line as it is written, and whose it is. */
export interface WrittenLine {
  readonly accountId: string;
  readonly text: string;
}

/** What is looked at. */
export interface LogLook {
  /** Null: calls of all accounts. */
  readonly accountId: string | null;
  /** So much of what is kept is looked through at the most. */
  readonly bytesMax: number;
}

/** Where a call is looked for that is known by its id. */
export interface LogSearch extends LogLook {
  /** Of its transaction or its request. */
  readonly id: string;
  /** When it began, by the clock of a process that may be another one. */
  readonly beganMs: number;
}

/** Where the lines lie. */
export interface LogStore {
  /** For so long lines wait for others, to be written together. */
  readonly waitMs: number;
  /** For a reader what has waited for so long is written out at once. */
  readonly readAfterMs: number;
  /** How many of them are kept: the first ones need not be. Rejects where none is, and it is not for want of room. */
  append(lines: readonly WrittenLine[], nowMs: number): Promise<number>;
  /** The newest ones. */
  newest(look: LogLook, limit: number): Promise<readonly LoggedName[]>;
  /** What is sealed of the call; null: it is not here. */
  sealed(search: LogSearch): Promise<string | null>;
  /** Nothing is tried again from here on. */
  close(): void;
}

/** A call is kept when it has ended, and clocks of machines differ: between these its line was written. */
const CALL_MS_MAX = 2 * 3_600_000;
const CLOCKS_MS = 60_000;

export function writtenWithin({ beganMs }: LogSearch): { readonly fromMs: number; readonly toMs: number } {
  return { fromMs: beganMs - CLOCKS_MS, toMs: beganMs + CALL_MS_MAX };
}

/** A line's seal may be as long as a megabyte: of many lines only this is kept. */
export function nameOf({ at, transactionId, requestId, accountId }: LoggedName): LoggedName {
  return { at, transactionId, requestId, accountId };
}

export function newestFirst(a: LoggedName, b: LoggedName): number {
  return b.at.localeCompare(a.at);
}

/** How a line says whose it is, or which call. */
export function wordOf(id: string | null): string {
  return id === null ? "" : JSON.stringify(id);
}

/** Null: of a process that died while it wrote it. */
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

/** The lines that have a word in them, in order; each is as long as what was kept lets it be. */
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
