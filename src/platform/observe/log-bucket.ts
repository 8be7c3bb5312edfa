// The request log in an object-store bucket shared by all processes and machines: one object per account for a few seconds of one process.
// Each account's objects have its name as prefix, so a search reads only its own, newest first.
import { setTimeout as pause } from "node:timers/promises";
import type { Clock } from "../../core/clock.ts";
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
  writtenWithin,
} from "./log-lines.ts";

const WAIT_MS = 10_000;
/** Keeps frequent readers from causing an object per line. */
const READ_AFTER_MS = 1_000;
/** The delays after failures; after the last, the lines are dropped. */
const AGAIN_MS = [1_000, 5_000] as const;
const DAY_MS = 86_400_000;
const SWEEP_MS = 3_600_000;
const AT_ONCE = 8;
/** More than one batch can contain. */
const OBJECT_BYTES_MAX = 64 * 1024 * 1024;
/** The minimum that an object counts toward a search's byte limit, because each request costs something too. */
const OBJECT_BYTES_MIN = 64 * 1024;
const ROOT = "request-log/";
/** Buckets list names only in ascending order, so the time counts down, from the year 2286, to sort the newest first. */
const LAST_MS = 9_999_999_999_999;
const TIME_DIGITS = 13;
/** The character after `/`: sorts after all names in a folder, and before whatever follows the folder. */
const BEHIND_SLASH = "0";

/** The bucket. Failures reject. */
export interface LogObjects {
  put(name: string, bytes: Uint8Array): Promise<void>;
  get(name: string, bytesMax: number): Promise<Buffer | null>;
  delete(name: string): Promise<void>;
  list(listing: {
    readonly prefix: string;
    readonly after: string;
    readonly folders?: true;
  }): Promise<{ readonly names: readonly string[]; readonly folders: readonly string[]; readonly hasMore: boolean }>;
}

export interface LogBucketOptions {
  readonly objects: LogObjects;
  /** Part of this process's object names. */
  readonly owner: string;
  readonly days: number;
  readonly clock: Clock;
  /** Called once per outage. */
  readonly onBroken: (error: unknown) => void;
  /** Overrides `WAIT_MS`. */
  readonly waitMs?: number;
  /** Overrides `SWEEP_MS`. */
  readonly sweepMs?: number;
}

function folderOf(accountId: string): string {
  return `${ROOT}${accountId}/`;
}

function timeText(ms: number): string {
  return String(LAST_MS - Math.floor(ms)).padStart(TIME_DIGITS, "0");
}

/** The time at which an object was written, in ms since the epoch, from its name. */
function timeOf(name: string): number {
  const at = name.lastIndexOf("/") + 1;
  return LAST_MS - Number(name.slice(at, at + TIME_DIGITS));
}

export class LogBucket implements LogStore {
  readonly waitMs: number;
  readonly readAfterMs = READ_AFTER_MS;
  readonly #options: LogBucketOptions;
  readonly #stopping = new AbortController();
  #written = 0;
  #isAway = false;

  constructor(options: LogBucketOptions) {
    this.#options = options;
    this.waitMs = options.waitMs ?? WAIT_MS;
  }

  async append(lines: readonly WrittenLine[], nowMs: number): Promise<number> {
    const byAccount = [...Map.groupBy(lines, ({ accountId }) => accountId)];
    let kept = 0;
    const lane = async () => {
      for (let one = byAccount.pop(); one !== undefined; one = byAccount.pop()) {
        const [accountId, own] = one;
        const name = `${folderOf(accountId)}${timeText(nowMs)}.${this.#options.owner}.${this.#written++}.jsonl`;
        if (await this.#put(name, Buffer.from(own.map(({ text }) => text).join("")))) kept += own.length;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    return kept;
  }

  async newest(look: LogLook, limit: number): Promise<readonly LoggedName[]> {
    const { accountId, bytesMax } = look;
    if (accountId !== null) return this.#newestWith([], folderOf(accountId), bytesMax, limit);
    let found: readonly LoggedName[] = [];
    for await (const folder of this.#folders()) found = await this.#newestWith(found, folder, bytesMax, limit);
    return found;
  }

  async sealed(search: LogSearch): Promise<string | null> {
    const { accountId } = search;
    if (accountId !== null) return this.#sealedIn(folderOf(accountId), search);
    for await (const folder of this.#folders()) {
      const sealed = await this.#sealedIn(folder, search);
      if (sealed !== null) return sealed;
    }
    return null;
  }

  /** Deletes old objects periodically, even if logging is off; ends once the bucket is closed. */
  async keepSwept(): Promise<void> {
    const { sweepMs = SWEEP_MS } = this.#options;
    const { signal } = this.#stopping;
    // A random start, so that processes started together do not all delete the same objects.
    for (let waitMs = Math.random() * sweepMs; ; waitMs = sweepMs) {
      await pause(waitMs, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
      await this.#sweep();
    }
  }

  close(): void {
    this.#stopping.abort();
  }

  /** False if all tries failed. */
  async #put(name: string, bytes: Uint8Array): Promise<boolean> {
    const { objects } = this.#options;
    for (let tries = 0; ; tries++) {
      try {
        await objects.put(name, bytes);
        this.#isAway = false;
        return true;
      } catch (error) {
        this.#tell(error);
        const againMs = AGAIN_MS[tries];
        const { signal } = this.#stopping;
        if (againMs === undefined || signal.aborted) return false;
        await pause(againMs, undefined, { signal }).catch(() => {});
      }
    }
  }

  #tell(error: unknown): void {
    if (!this.#isAway) this.#options.onBroken(error);
    this.#isAway = true;
  }

  /** The lines of an object; none if it is gone. */
  async #lines(name: string): Promise<{ readonly lines: readonly LogLine[]; readonly bytes: number }> {
    const bytes = await this.#options.objects.get(name, OBJECT_BYTES_MAX);
    const lines: LogLine[] = [];
    for await (const line of linesIn(bytes === null ? [] : [bytes], "")) lines.push(line);
    return { lines, bytes: bytes?.length ?? 0 };
  }

  async *#names(prefix: string, after: string): AsyncGenerator<string> {
    for (let last = after; ; ) {
      const { names, hasMore } = await this.#options.objects.list({ prefix, after: last });
      yield* names;
      if (!hasMore) return;
      last = names.at(-1) ?? last;
    }
  }

  async *#folders(): AsyncGenerator<string> {
    for (let last = ""; ; ) {
      const { folders, hasMore } = await this.#options.objects.list({ prefix: ROOT, after: last, folders: true });
      yield* folders;
      if (!hasMore) return;
      last = `${folders.at(-1)?.slice(0, -1) ?? last}${BEHIND_SLASH}`;
    }
  }

  /** The newest of `already` and a folder's lines; stops at objects older than all of these. */
  async #newestWith(
    already: readonly LoggedName[],
    folder: string,
    bytesMax: number,
    limit: number,
  ): Promise<readonly LoggedName[]> {
    let found = already;
    let left = bytesMax;
    for await (const name of this.#names(folder, "")) {
      const oldest = found[limit - 1];
      // An object's lines are no newer than the object.
      if (left <= 0 || (oldest !== undefined && timeOf(name) < Date.parse(oldest.at))) break;
      const { lines, bytes } = await this.#lines(name);
      left -= Math.max(bytes, OBJECT_BYTES_MIN);
      found = [...found, ...lines.map(nameOf)].sort(newestFirst).slice(0, limit);
    }
    return found;
  }

  async #sealedIn(folder: string, search: LogSearch): Promise<string | null> {
    const { id, bytesMax } = search;
    const { fromMs, toMs } = writtenWithin(search);
    const names: string[] = [];
    for await (const name of this.#names(folder, `${folder}${timeText(toMs)}`)) {
      if (timeOf(name) < fromMs) break;
      names.push(name);
    }
    let left = bytesMax;
    // Most calls are short, so the line is likely in one of the first objects written after the call began.
    for (const name of names.toReversed()) {
      if (left <= 0) return null;
      const { lines, bytes } = await this.#lines(name);
      left -= Math.max(bytes, OBJECT_BYTES_MIN);
      const line = lines.find(({ transactionId, requestId }) => transactionId === id || requestId === id);
      if (line !== undefined) return line.sealed;
    }
    return null;
  }

  /** Old objects of all accounts, by any process; ends early if the bucket is closed. */
  async *#old(): AsyncGenerator<string> {
    const name = timeText(this.#options.clock.epochMs() - this.#options.days * DAY_MS);
    for await (const folder of this.#folders()) {
      if (this.#stopping.signal.aborted) return;
      for await (const old of this.#names(folder, `${folder}${name}`)) {
        if (this.#stopping.signal.aborted) return;
        yield old;
      }
    }
  }

  async #sweep(): Promise<void> {
    const old = this.#old();
    // All lanes share one generator, which ends for all of them when one fails: a failing bucket gets no further requests.
    const lane = async () => {
      for await (const name of old) await this.#options.objects.delete(name);
    };
    const lanes = await Promise.allSettled(Array.from({ length: AT_ONCE }, lane));
    for (const outcome of lanes) if (outcome.status === "rejected") this.#tell(outcome.reason);
  }
}
