// The files of the request log: one a day of each process, gone when they are old, read from the newest day back.
import { appendFile, mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { isRecord, stringOf } from "../json.ts";
import type { LoggedName } from "./request-log.ts";

const DAY_MS = 86_400_000;
const LOOK_MS = 60_000;
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
  /** Whether the disk has room beyond what the books need. */
  readonly hasRoom: () => Promise<boolean>;
}

export interface Line extends LoggedName {
  readonly sealed: string;
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
  #isFull = false;
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: LogFolderOptions) {
    this.#options = options;
  }

  /** False: there is no room for them. Rejects where the disk does not take them. */
  async append(lines: readonly string[], nowMs: number): Promise<boolean> {
    const { folder, owner } = this.#options;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await this.#sweep(nowMs);
    if (this.#isFull) return false;
    await appendFile(join(folder, `${dayOf(nowMs)}.${owner}.jsonl`), lines.join(""), { mode: 0o600 });
    return true;
  }

  /** The newest lines with a word in them. */
  async newest(word: string, limit: number): Promise<readonly Line[]> {
    const found: Line[] = [];
    let lastDay = "";
    for (const name of await this.#files()) {
      // Processes write side by side, so all files of a day are looked at.
      const ofDay = name.slice(0, 10);
      if (found.length >= limit && ofDay !== lastDay) break;
      lastDay = ofDay;
      const day: Line[] = [];
      for await (const line of linesWith(join(this.#options.folder, name), word)) {
        day.push(line);
        if (day.length > limit) day.shift();
      }
      found.push(...day);
    }
    return found.toSorted((a, b) => b.at.localeCompare(a.at)).slice(0, limit);
  }

  /** The names of all files, the newest day first. */
  async #files(): Promise<readonly string[]> {
    const names = await readdir(this.#options.folder).catch(() => []);
    return names.filter((name) => FILE.test(name)).toSorted((a, b) => b.localeCompare(a));
  }

  /** Old files go, and it is seen how much room the others leave. */
  async #sweep(nowMs: number): Promise<void> {
    if (nowMs - this.#lookedAtMs < LOOK_MS && nowMs >= this.#lookedAtMs) return;
    this.#lookedAtMs = nowMs;
    const { folder, days, bytesMax, hasRoom } = this.#options;
    const first = dayOf(nowMs - (days - 1) * DAY_MS);
    let bytes = 0;
    for (const name of await this.#files()) {
      const path = join(folder, name);
      if (name.slice(0, first.length) < first) await rm(path, { force: true });
      else bytes += (await stat(path).catch(() => ({ size: 0 }))).size;
    }
    this.#isFull = bytes >= bytesMax || !(await hasRoom());
  }
}
