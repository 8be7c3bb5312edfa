// The request log in a bucket of an object store, which all processes and machines share: an object for what one account's calls left in some
// seconds of one process. An account's objects stand below its own name, so what it looks at is its own alone, newest first.
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
/** A reader who asks many times a second makes no object of each account's every line. */
const READ_AFTER_MS = 1_000;
/** After each failure; then what was to be written is left out. */
const AGAIN_MS = [1_000, 5_000] as const;
const DAY_MS = 86_400_000;
const SWEEP_MS = 3_600_000;
const AT_ONCE = 8;
/** More than waits for one writing. */
const OBJECT_BYTES_MAX = 64 * 1024 * 1024;
/** A look is bounded by what it looks through; an object counts as so much at the least, for to ask for it is work as well. */
const OBJECT_BYTES_MIN = 64 * 1024;
const ROOT = "request-log/";
/** Names are listed in their order only, so the newest must sort first: they count down to the year 2286. */
const LAST_MS = 9_999_999_999_999;
const TIME_DIGITS = 13;
/** Sorts behind every name below a folder, and before all that come behind the folder. */
const BEHIND_SLASH = "0";

/** The bucket. What it cannot do it rejects. */
export interface LogObjects {
  put(name: string, bytes: Uint8Array): Promise<void>;
  get(name: string, bytesMax: number): Promise<Buffer | null>;
  delete(name: string): Promise<void>;
  list(listing: { readonly prefix: string; readonly after: string; readonly folders?: true }): Promise<{
    readonly names: readonly string[];
    readonly folders: readonly string[];
    readonly hasMore: boolean;
  }>;
}

export interface LogBucketOptions {
  readonly objects: LogObjects;
  /** Of the objects of this process. */
  readonly owner: string;
  readonly days: number;
  readonly clock: Clock;
  /** Told once an outage. */
  readonly onBroken: (error: unknown) => void;
  /** In place of `WAIT_MS`. */
  readonly waitMs?: number;
  /** In place of `SWEEP_MS`. */
  readonly sweepMs?: number;
}

function folderOf(accountId: string): string {
  return `${ROOT}${accountId}/`;
}

function timeText(ms: number): string {
  return String(LAST_MS - Math.floor(ms)).padStart(TIME_DIGITS, "0");
}

/** Epoch ms at which the object of a name was written. */
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

  /** Takes away what is old, again and again, also where nothing more is kept; ends once the bucket is closed. */
  async keepSwept(): Promise<void> {
    const { sweepMs = SWEEP_MS } = this.#options;
    const { signal } = this.#stopping;
    // Processes that were started together do not all ask for the same objects.
    for (let waitMs = Math.random() * sweepMs; ; waitMs = sweepMs) {
      await pause(waitMs, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
      await this.#sweep();
    }
  }

  close(): void {
    this.#stopping.abort();
  }

  /** False: the bucket has not taken it, however often it was asked. */
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

  /** What one object has; nothing where it is gone. */
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

  /** Of all accounts that have something in it. */
  async *#folders(): AsyncGenerator<string> {
    for (let last = ""; ; ) {
      const { folders, hasMore } = await this.#options.objects.list({ prefix: ROOT, after: last, folders: true });
      yield* folders;
      if (!hasMore) return;
      last = `${folders.at(-1)?.slice(0, -1) ?? last}${BEHIND_SLASH}`;
    }
  }

  /** Of what is found already and what a folder has; of the folder nothing is read that is older than all of these. */
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
      // Its lines are no younger than it is.
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
    // Most calls are short, so it is among the first that were written after it began.
    for (const name of names.toReversed()) {
      if (left <= 0) return null;
      const { lines, bytes } = await this.#lines(name);
      left -= Math.max(bytes, OBJECT_BYTES_MIN);
      const line = lines.find(({ transactionId, requestId }) => transactionId === id || requestId === id);
      if (line !== undefined) return line.sealed;
    }
    return null;
  }

  /** Of all accounts, whichever process wrote it; ends early where the bucket is closed. */
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
    // They take from one list, which ends for all of them where one fails: a bucket that refuses is not asked for the rest.
    const lane = async () => {
      for await (const name of old) await this.#options.objects.delete(name);
    };
    const lanes = await Promise.allSettled(Array.from({ length: AT_ONCE }, lane));
    for (const outcome of lanes) if (outcome.status === "rejected") this.#tell(outcome.reason);
  }
}
