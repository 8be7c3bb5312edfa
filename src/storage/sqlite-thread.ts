// The event loop's side of the storage thread: gathers the operations of a tick into one message, one batch at a time.
import { Worker } from "node:worker_threads";
import type { Clock } from "../clock.ts";
import { GatewayError } from "../errors.ts";
import { THREAD_FLAGS } from "../thread-flags.ts";
import { DISK_BOUNDS, type DiskBounds } from "./disk-guard.ts";
import type { Sharing } from "./open-database.ts";
import { openReadingThread, type ReadingThread, type ReadRow, type Value } from "./reading-thread.ts";
import type { Operations } from "./sqlite-unit.ts";
import type { BatchAnswer, FromThread, OperationEntry, ThreadStart } from "./wire.ts";

/** Commits stay short: what is beyond goes into the next batch. */
const BATCH_MAX = 256;
/** Operations that wait and show a busy loop; enough company for a commit; the turns that are waited for it at most. */
const BUSY_COUNT = 4;
const GATHER_COUNT = 32;
const GATHER_TURNS_MAX = 8;
/** So long an operation whose caller has time waits for others to be committed with. */
const PATIENCE_MS = 5;
/** Operations that may wait; new work is refused at half of it, so that running work can still end. */
const QUEUE_MAX = 32_768;
const RETRY_AFTER_SECONDS = 5;

export interface SqliteThreadOptions {
  readonly file: string;
  /** Unit name to the URL of the file that exports `openUnit`. */
  readonly units: Readonly<Record<string, URL>>;
  readonly clock: Clock;
  readonly disk?: DiskBounds;
  /** No other process as a rule. The units of a file that processes share keep nothing in memory. */
  readonly sharing?: Sharing;
  /** The store is broken for good: everything has been rejected, and the process should end. */
  readonly onFatal: (error: Error) => void;
}

/** How an operation is called; by default it is sent at once, and answered when it is on disk. */
export interface Manner {
  /** A crash may forget that it was ever called, and so it is answered without waiting for the disk. */
  readonly mayBeLost?: true;
  /** Its caller has some milliseconds: it goes with the next that has none, or after `PATIENCE_MS`, and makes no commit of its own where others make some. */
  readonly isPatient?: true;
}

/** Calls an operation of a unit and answers what it returned, once that is committed and on disk. Rejects with `ledger_unavailable`. */
export type UnitCaller<Ops extends Operations> = <Name extends keyof Ops & string>(
  name: Name,
  argument: Parameters<Ops[Name]>[0],
  manner?: Manner,
) => Promise<ReturnType<Ops[Name]>>;

const AT_ONCE: Manner = {};

export interface SqliteThread {
  unit<Ops extends Operations>(name: string): UnitCaller<Ops>;
  /** Rows of a long `SELECT`, read by a connection of its own; the file must be shared with readers or processes. */
  ask(text: string, values: readonly Value[]): Promise<readonly ReadRow[]>;
  /** Writes a consistent, durable copy to `path`. Rejects where it exists. */
  backup(path: string): Promise<void>;
  /** Commits what waits, closes the database and ends the thread. */
  close(): Promise<void>;
}

interface Waiting {
  readonly number: number;
  readonly argument: unknown;
  readonly mayBeLost: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** An operation that was committed, and is answered with its value when the commit is on disk. */
interface Unsynced {
  readonly waiting: Waiting;
  readonly value: unknown;
  readonly commit: number;
}

interface Pending {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** Starts the thread and opens its database. Rejects with a sentence for the operator where that is not possible. */
export async function openSqliteThread(options: SqliteThreadOptions): Promise<SqliteThread> {
  const { clock } = options;
  const units = Object.fromEntries(Object.entries(options.units).map(([name, url]) => [name, url.href]));
  const disk = options.disk ?? DISK_BOUNDS;
  const time = { epochMs: clock.epochMs(), elapsedMs: clock.elapsedMs() };
  const start: ThreadStart = { file: options.file, sharing: options.sharing ?? "none", units, disk, ...time };
  const worker = new Worker(new URL("./sqlite-worker.ts", import.meta.url), {
    workerData: start,
    execArgv: [...THREAD_FLAGS],
  });
  const entries = await whenReady(worker);
  return new ThreadClient(worker, entries, options);
}

function whenReady(worker: Worker): Promise<readonly OperationEntry[]> {
  return new Promise((resolve, reject) => {
    worker.once("error", reject);
    worker.once("message", (message: FromThread) => {
      worker.off("error", reject);
      if (typeof message === "object" && message.kind === "ready") resolve(message.operations);
    });
  });
}

/** `nothingDone`: the thread was not asked, or has said that it rolled back what it was asked. */
function unavailable(detail: string, nothingDone: boolean): GatewayError {
  const cause = new Error(detail);
  return new GatewayError("ledger_unavailable", { retryAfterSeconds: RETRY_AFTER_SECONDS, cause, nothingDone });
}

class ThreadClient implements SqliteThread {
  readonly #worker: Worker;
  readonly #entries: readonly OperationEntry[];
  readonly #clock: Clock;
  readonly #onFatal: (error: Error) => void;
  readonly #reading: ReadingThread;
  #queue: Waiting[] = [];
  /** Those that go with the next that is sent. */
  #patient: Waiting[] = [];
  #patience: NodeJS.Timeout | null = null;
  /** The batch that the thread works on; the next one leaves when its answer is here. */
  #running: readonly Waiting[] | null = null;
  /** Those whose commits are on their way to the disk, the first ones first. */
  #unsynced: Unsynced[] = [];
  #scheduled = false;
  /** Operations that waited at the last turn, and the turns waited so far. */
  #gathered = 0;
  #turns = 0;
  #broken: Error | null = null;
  #closing: Pending | null = null;
  #closed: Promise<void> | null = null;
  readonly #backups: Pending[] = [];

  constructor(worker: Worker, entries: readonly OperationEntry[], options: SqliteThreadOptions) {
    this.#worker = worker;
    this.#entries = entries;
    this.#clock = options.clock;
    this.#onFatal = options.onFatal;
    this.#reading = openReadingThread(options.file);
    worker.on("message", (message: FromThread) => this.#hear(message));
    worker.on("error", (error) => this.#break(error instanceof Error ? error : new Error(String(error))));
    worker.on("exit", () => this.#exited());
  }

  unit<Ops extends Operations>(name: string): UnitCaller<Ops> {
    const numbers = new Map<string, number>();
    for (const [number, entry] of this.#entries.entries()) if (entry.unit === name) numbers.set(entry.name, number);
    return ((operation: string, argument: unknown, manner = AT_ONCE) =>
      this.#call(numbers.get(operation) ?? -1, argument, manner)) as never;
  }

  #call(number: number, argument: unknown, { mayBeLost, isPatient }: Manner): Promise<unknown> {
    if (this.#broken !== null) return Promise.reject(unavailable(this.#broken.message, true));
    if (this.#closing !== null) return Promise.reject(unavailable("the store is closed", true));
    const room = this.#entries[number]?.admission ? QUEUE_MAX / 2 : QUEUE_MAX;
    if (this.#queue.length + this.#patient.length >= room)
      return Promise.reject(unavailable("too many operations wait", true));
    return new Promise((resolve, reject) => {
      const waiting = { number, argument, mayBeLost: mayBeLost === true, resolve, reject };
      (isPatient === true ? this.#patient : this.#queue).push(waiting);
      if (isPatient === true) this.#patience ??= setTimeout(this.#waitedLong, PATIENCE_MS);
      else this.#schedule();
    });
  }

  /** From now on those that were patient are as others are. */
  #hurry(): void {
    if (this.#patience !== null) clearTimeout(this.#patience);
    this.#patience = null;
    this.#queue = this.#queue.length === 0 ? this.#patient : [...this.#queue, ...this.#patient];
    this.#patient = [];
  }

  readonly #waitedLong = (): void => {
    this.#hurry();
    this.#schedule();
  };

  /**
   * Sends at the end of the turn. Where a turn of a busy loop brings several operations, and the next ones more, waiting
   * a few turns costs no caller time, since their callers would wait for the loop, and saves commits. While a sync runs, too: what
   * is committed before it ends is on disk with the next.
   */
  #schedule(): void {
    if (this.#scheduled || this.#running !== null) return;
    this.#scheduled = true;
    this.#gathered = 0;
    this.#turns = 0;
    setImmediate(this.#turn);
  }

  readonly #turn = (): void => {
    const { length } = this.#queue;
    const busy = length >= BUSY_COUNT && length > this.#gathered;
    if (busy && length < GATHER_COUNT && this.#turns < GATHER_TURNS_MAX) {
      this.#gathered = length;
      this.#turns++;
      setImmediate(this.#turn);
      return;
    }
    this.#scheduled = false;
    this.#send();
  };

  #send(): void {
    if (this.#running !== null || this.#broken !== null) return;
    if (this.#patient.length > 0) this.#hurry();
    if (this.#queue.length === 0) {
      // The last to close a file empties its log: that is for the one that writes.
      if (this.#closing !== null && this.#unsynced.length === 0)
        void this.#reading.close().then(() => this.#worker.postMessage({ kind: "close" }));
      return;
    }
    const running = this.#queue.length <= BATCH_MAX ? this.#queue : this.#queue.slice(0, BATCH_MAX);
    this.#queue = this.#queue.length <= BATCH_MAX ? [] : this.#queue.slice(BATCH_MAX);
    const calls: unknown[] = [];
    for (const { number, argument } of running) calls.push(number, argument);
    this.#running = running;
    const batch = { epochMs: this.#clock.epochMs(), elapsedMs: this.#clock.elapsedMs(), calls };
    this.#worker.postMessage(JSON.stringify(batch));
  }

  #hear(message: FromThread): void {
    if (typeof message === "string") this.#settle(JSON.parse(message) as BatchAnswer);
    else if (typeof message === "number") this.#synced(message);
    else if (message.kind === "fatal") this.#break(new Error(message.error));
    else if (message.kind === "backup") {
      const waiting = this.#backups.shift();
      if (message.error === null) waiting?.resolve();
      else waiting?.reject(new Error(message.error));
    }
  }

  #settle({ values, errors, commit }: BatchAnswer): void {
    const batch = this.#running ?? [];
    this.#running = null;
    let at = 0;
    for (const waiting of batch) {
      const error = errors?.[at];
      if (error !== undefined) waiting.reject(unavailable(error, true));
      else if (commit === 0 || waiting.mayBeLost) waiting.resolve(values[at]);
      else this.#unsynced.push({ waiting, value: values[at], commit });
      at += 1;
    }
    if (this.#queue.length > 0 || this.#closing !== null) this.#schedule();
  }

  #synced(upTo: number): void {
    const after = this.#unsynced.findIndex(({ commit }) => commit > upTo);
    const done = after < 0 ? this.#unsynced : this.#unsynced.slice(0, after);
    this.#unsynced = after < 0 ? [] : this.#unsynced.slice(after);
    for (const { waiting, value } of done) waiting.resolve(value);
    if (this.#queue.length > 0 || this.#closing !== null) this.#schedule();
  }

  ask(text: string, values: readonly Value[]): Promise<readonly ReadRow[]> {
    return this.#reading.ask(text, values);
  }

  backup(path: string): Promise<void> {
    if (this.#broken !== null) return Promise.reject(this.#broken);
    return new Promise((resolve, reject) => {
      this.#backups.push({ resolve, reject });
      this.#worker.postMessage({ kind: "backup", path });
    });
  }

  close(): Promise<void> {
    if (this.#broken !== null) return Promise.resolve();
    this.#closed ??= new Promise((resolve, reject) => {
      this.#closing = { resolve, reject };
      this.#schedule();
    });
    return this.#closed;
  }

  #exited(): void {
    if (this.#closing !== null && this.#queue.length === 0 && this.#running === null) this.#closing.resolve();
    else this.#break(new Error("the storage thread ended"));
  }

  /** What ran or waited may or may not have been committed: it is rejected, and nothing more is taken on. */
  #break(error: Error): void {
    if (this.#broken !== null) return;
    this.#broken = error;
    const unsynced = this.#unsynced.map(({ waiting }) => waiting);
    for (const { reject } of [...unsynced, ...(this.#running ?? []), ...this.#queue, ...this.#patient]) {
      reject(unavailable(error.message, false));
    }
    for (const { reject } of this.#backups) reject(error);
    this.#closing?.reject(error);
    this.#running = null;
    this.#queue = [];
    this.#patient = [];
    this.#unsynced = [];
    void this.#worker.terminate();
    void this.#reading.close();
    this.#onFatal(error);
  }
}
