// The request log in a folder: one file per day and process, deleted when old, read from the newest day backward.
import { appendFile, type FileHandle, mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import {
  type LoggedName,
  type LogLine,
  type LogLook,
  type LogSearch,
  type LogStore,
  linesIn,
  nameOf,
  newestFirst,
  type WrittenLine,
  wordOf,
  writtenWithin,
} from "./log-lines.ts";

const WRITE_MS = 500;
const DAY_MS = 86_400_000;
const LOOK_MS = 60_000;
/** After writing this much, the process measures all files again. */
const LOOK_BYTES = 64 * 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;
const FILE = /^(\d{4}-\d{2}-\d{2})\.[\w-]{1,100}\.jsonl$/;

export interface LogFolderOptions {
  readonly folder: string;
  /** Part of this process's file names, so that other processes have their own. */
  readonly owner: string;
  readonly days: number;
  /** For all files together. */
  readonly bytesMax: number;
  /** True if the disk has room for this many bytes beyond what the books need. Called only once the folder exists. */
  readonly hasRoom: (bytes: number) => Promise<boolean>;
}

async function* chunksFrom(handle: FileHandle, start: number): AsyncGenerator<Buffer> {
  for (let position = start; ; ) {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** The lines of a file from a byte offset. Drops a first line that is incomplete. */
function linesFrom(handle: FileHandle, start: number, word = ""): AsyncGenerator<LogLine> {
  return linesIn(chunksFrom(handle, start), word);
}

/** The lines of a file that contain a word; for a long file, only in its last `bytesMax`. */
async function* lastLines(path: string, word: string, bytesMax: number): AsyncGenerator<LogLine> {
  const handle = await open(path, "r");
  try {
    const { size } = await handle.stat();
    yield* linesFrom(handle, Math.max(0, size - bytesMax), word);
  } finally {
    await handle.close();
  }
}

/** An offset at most one chunk before the first line at or after `at`; lines are in order of time. */
async function byteBefore(handle: FileHandle, at: string): Promise<number> {
  let [low, high] = [0, (await handle.stat()).size];
  while (high - low > CHUNK_BYTES) {
    const middle = Math.floor((low + high) / 2);
    const { value: line } = await linesFrom(handle, middle).next();
    if (line === undefined || line.at >= at) high = middle;
    else low = middle;
  }
  return low;
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

export class LogFolder implements LogStore {
  readonly waitMs = WRITE_MS;
  /** A folder can be flushed at any time: it stays one file. */
  readonly readAfterMs = 0;
  readonly #options: LogFolderOptions;
  /** The size of all files when last measured, and what this process has written since. */
  #bytesThen = 0;
  #bytesSince = 0;
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: LogFolderOptions) {
    this.#options = options;
  }

  async append(lines: readonly WrittenLine[], nowMs: number): Promise<number> {
    const { folder, owner, bytesMax, hasRoom } = this.#options;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await this.#sweep(nowMs);
    const text = Buffer.from(lines.map(({ text }) => text).join(""));
    const bytes = this.#bytesThen + this.#bytesSince;
    if (bytes >= bytesMax || !(await hasRoom(text.length))) return 0;
    // Count it first: a failed write may still have written a part.
    this.#bytesSince += text.length;
    await appendFile(join(folder, `${dayOf(nowMs)}.${owner}.jsonl`), text, { mode: 0o600 });
    return lines.length;
  }

  /** Keeps at most `limit` lines in memory, and only their names. */
  async newest({ accountId, bytesMax }: LogLook, limit: number): Promise<readonly LoggedName[]> {
    let found: readonly LoggedName[] = [];
    let lastDay = "";
    let left = bytesMax;
    for (const name of await this.#files()) {
      // Processes write in parallel, so read all files of a day.
      const ofDay = name.slice(0, 10);
      if (left <= 0 || (found.length >= limit && ofDay !== lastDay)) break;
      lastDay = ofDay;
      const path = join(this.#options.folder, name);
      const ofFile: LoggedName[] = [];
      for await (const line of lastLines(path, wordOf(accountId), left)) {
        if (accountId !== null && line.accountId !== accountId) continue;
        ofFile.push(nameOf(line));
        if (ofFile.length > limit) ofFile.shift();
      }
      found = [...found, ...ofFile].sort(newestFirst).slice(0, limit);
      left -= await sizeOf(path);
    }
    return found;
  }

  async sealed(search: LogSearch): Promise<string | null> {
    const { fromMs, toMs } = writtenWithin(search);
    const [first, last] = [dayOf(fromMs), dayOf(toMs)];
    let left = search.bytesMax;
    for (const name of (await this.#files()).toReversed()) {
      const day = name.slice(0, first.length);
      if (day < first || day > last || left <= 0) continue;
      const { sealed, bytes } = await this.#sealedIn(join(this.#options.folder, name), search, left);
      if (sealed !== null) return sealed;
      left -= bytes;
    }
    return null;
  }

  close(): void {}

  /** The sealed part of the call in one file, and the bytes searched. */
  async #sealedIn(path: string, search: LogSearch, bytesMax: number) {
    const { id, accountId } = search;
    const { fromMs, toMs } = writtenWithin(search);
    const [from, to] = [new Date(fromMs).toISOString(), new Date(toMs).toISOString()];
    const handle = await open(path, "r");
    let bytes = 0;
    try {
      for await (const line of linesFrom(handle, await byteBefore(handle, from))) {
        if (line.at < from) continue;
        if (line.at > to || bytes > bytesMax) break;
        bytes += line.sealed.length;
        const isIt = line.transactionId === id || line.requestId === id;
        if (isIt && (accountId === null || line.accountId === accountId)) return { sealed: line.sealed, bytes };
      }
      return { sealed: null, bytes };
    } finally {
      await handle.close();
    }
  }

  async #files(): Promise<readonly string[]> {
    const names = await readdir(this.#options.folder).catch(() => []);
    return names.filter((name) => FILE.test(name)).toSorted((a, b) => b.localeCompare(a));
  }

  /** Deletes old files and measures the others. */
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
      else bytes += await sizeOf(path);
    }
    this.#bytesThen = bytes;
    this.#bytesSince = 0;
  }
}

/** 0 if it is gone. */
async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => ({ size: 0 }))).size;
}
