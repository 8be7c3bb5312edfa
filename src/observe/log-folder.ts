// The files of the request log: one a day of each process, gone when they are old, read from the newest day back.
import { appendFile, mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { isRecord, stringOf } from "../json.ts";
import type { LoggedName } from "./request-log.ts";

const DAY_MS = 86_400_000;
const LOOK_MS = 60_000;
/** After so much of our own writing it is seen again what all processes have written. */
const LOOK_BYTES = 64 * 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;
const LINE_BREAK = 10;
const FILE = /^(\d{4}-\d{2}-\d{2})\.[\w-]{1,100}\.jsonl$/;

export interface LogFolderOptions {
  readonly folder: string;
  /** Of the files of this process: others have theirs. */
  readonly owner: string;
  readonly days: number;
  /** Of all files together. */
  readonly bytesMax: number;
  /** Whether its disk has room for so many bytes more, beyond what the books need on it. Asked once the folder is there. */
  readonly hasRoom: (bytes: number) => Promise<boolean>;
}

interface Line extends LoggedName {
  readonly sealed: string;
}

/** A line's seal may be as long as a megabyte: of many lines only this is kept. */
function nameOf({ at, transactionId, requestId, accountId }: Line): LoggedName {
  return { at, transactionId, requestId, accountId };
}

/** Null: of a process that died while it wrote it. */
function lineIn(bytes: Buffer): Line | null {
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

/** The lines of a file that have a word in them, in order; each is as long as what was kept lets it be. */
async function* linesWith(path: string, word: string): AsyncGenerator<Line> {
  const handle = await open(path, "r");
  try {
    let rest = Buffer.alloc(0);
    for (;;) {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, null);
      if (bytesRead === 0) return;
      const bytes = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
      let from = 0;
      for (let end = bytes.indexOf(LINE_BREAK); end >= 0; end = bytes.indexOf(LINE_BREAK, from)) {
        const one = bytes.subarray(from, end);
        const line = one.includes(word) ? lineIn(one) : null;
        if (line !== null) yield line;
        from = end + 1;
      }
      rest = bytes.subarray(from);
    }
  } finally {
    await handle.close();
  }
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

export class LogFolder {
  readonly #options: LogFolderOptions;
  /** Of all files when they were last looked at, and what this process has written since then. */
  #bytesThen = 0;
  #bytesSince = 0;
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: LogFolderOptions) {
    this.#options = options;
  }

  /** False: there is no room for them. Rejects where the disk does not take them. */
  async append(lines: readonly string[], nowMs: number): Promise<boolean> {
    const { folder, owner, bytesMax, hasRoom } = this.#options;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await this.#sweep(nowMs);
    const text = Buffer.from(lines.join(""));
    const bytes = this.#bytesThen + this.#bytesSince;
    if (bytes >= bytesMax || !(await hasRoom(text.length))) return false;
    // Counted before: of what the disk refuses a part may be written.
    this.#bytesSince += text.length;
    await appendFile(join(folder, `${dayOf(nowMs)}.${owner}.jsonl`), text, { mode: 0o600 });
    return true;
  }

  /** The newest lines with a word in them. */
  names(word: string, limit: number): Promise<readonly LoggedName[]> {
    return this.#newest(word, limit, nameOf);
  }

  /** What is sealed in the newest line with a word in it. */
  async sealed(word: string): Promise<string | null> {
    const [line] = await this.#newest(word, 1, (line) => line);
    return line?.sealed ?? null;
  }

  /** Keeps of no more lines than `limit`, and of each only what `of` makes of it. */
  async #newest<T extends LoggedName>(word: string, limit: number, of: (line: Line) => T): Promise<readonly T[]> {
    let found: readonly T[] = [];
    let lastDay = "";
    for (const name of await this.#files()) {
      // Processes write side by side, so all files of a day are looked at.
      const ofDay = name.slice(0, 10);
      if (found.length >= limit && ofDay !== lastDay) break;
      lastDay = ofDay;
      const ofFile: T[] = [];
      for await (const line of linesWith(join(this.#options.folder, name), word)) {
        ofFile.push(of(line));
        if (ofFile.length > limit) ofFile.shift();
      }
      found = [...found, ...ofFile].sort((a, b) => b.at.localeCompare(a.at)).slice(0, limit);
    }
    return found;
  }

  /** The names of all files, the newest day first. */
  async #files(): Promise<readonly string[]> {
    const names = await readdir(this.#options.folder).catch(() => []);
    return names.filter((name) => FILE.test(name)).toSorted((a, b) => b.localeCompare(a));
  }

  /** Old files go, and it is seen how much the others are. */
  async #sweep(nowMs: number): Promise<void> {
    const isLate = nowMs - this.#lookedAtMs >= LOOK_MS || nowMs < this.#lookedAtMs;
    if (!isLate && this.#bytesSince < LOOK_BYTES) return;
    this.#lookedAtMs = nowMs;
    const { folder, days } = this.#options;
    const first = dayOf(nowMs - (days - 1) * DAY_MS);
    let bytes = 0;
    for (const name of await this.#files()) {
      const path = join(folder, name);
      if (name.slice(0, first.length) < first) await rm(path, { force: true });
      else bytes += (await stat(path).catch(() => ({ size: 0 }))).size;
    }
    this.#bytesThen = bytes;
    this.#bytesSince = 0;
  }
}
