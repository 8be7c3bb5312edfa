// A process's side of the storage thread, local or remote: collects the operations of a tick into one message, one batch at a time.
import type { Clock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import type { ReadingThread, ReadRow, Value } from "./reading-thread.ts";
import type { Operations } from "./sqlite-unit.ts";
import type { Batch, BatchAnswer, FromThread, OperationEntry, StoreNews, ToThread } from "./wire.ts";

/** Keeps commits short; the rest goes into the next batch. */
const BATCH_MAX = 256;
/** The queue length that indicates a busy loop, the length that is enough for a commit, and the most turns to wait. */
const BUSY_COUNT = 4;
const GATHER_COUNT = 32;
const GATHER_TURNS_MAX = 8;
/** How long a patient operation waits for others to share a commit. */
const PATIENCE_MS = 5;
/** The most queued operations; new work is refused at half, so that running work can still finish. */
const QUEUE_MAX = 32_768;
const RETRY_AFTER_SECONDS = 5;

/** How to call an operation; by default it is sent at once, and resolves when it is on disk. */
export interface Manner {
  /** May be lost in a crash, so it resolves without waiting for the disk. */
  readonly mayBeLost?: true;
  /** May wait some milliseconds: it goes with the next operation that may not, or after `PATIENCE_MS`, to avoid a separate commit. */
  readonly isPatient?: true;
  /** Sends the operation with the next one, in order, and waits for no answer. Called if the operation was not done. */
  readonly onFailed?: () => void;
}

/** Calls a unit's operation and returns its value, once it is committed and on disk. Rejects with `ledger_unavailable`. */
export type UnitCaller<Ops extends Operations> = <Name extends keyof Ops & string>(
  name: Name,
  argument: Parameters<Ops[Name]>[0],
  manner?: Manner,
) => Promise<ReturnType<Ops[Name]>>;

const NOBODY_WAITS = Promise.resolve(null);
const nothing = (): void => {};

/** How the reading thread shortens a long log. */
const WRITE_LOG = new URL("./write-log.ts", import.meta.url);

/** The storage thread, local or remote, as its users see it. */
export type SqliteThread = Pick<
  ThreadClient,
  "admits" | "clock" | "unit" | "ask" | "inquire" | "backup" | "tell" | "close"
>;

export interface ThreadPort {
  /** Throws if a message is too long to send. */
  post(message: ToThread): void;
  /** Ends it at once. */
  cut(): void;
}

export interface ThreadClientParts {
  readonly port: ThreadPort;
  readonly entries: readonly OperationEntry[];
  readonly reading: ReadingThread;
  readonly clock: Clock;
  /** Other processes use the store, too. */
  readonly shared: boolean;
  /** The store is permanently broken: everything was rejected, and the process should exit. */
  readonly onFatal: (error: Error) => void;
  /** For processes that share the store. */
  readonly onNews?: ((news: StoreNews) => void) | undefined;
}

interface Waiting {
  readonly number: number;
  readonly argument: unknown;
  readonly mayBeLost: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** A committed operation that resolves once its commit is on disk. */
interface Unsynced {
  readonly waiting: Waiting;
  readonly value: unknown;
  readonly commit: number;
}

type Pending = Pick<PromiseWithResolvers<void>, "resolve" | "reject">;

/** `nothingDone`: the thread did not get the operation, or reported that it rolled it back. */
export function unavailable(detail: string, nothingDone: boolean): GatewayError {
  const cause = new Error(detail);
  return new GatewayError("ledger_unavailable", { retryAfterSeconds: RETRY_AFTER_SECONDS, cause, nothingDone });
}

export class ThreadClient {
  /** The clock whose time goes with each batch. */
  readonly clock: Clock;
  readonly #parts: ThreadClientParts;
  #queue: Waiting[] = [];
  /** Something in the queue must be sent. */
  #isPressing = false;
  /** Operations that go with the next batch. */
  #patient: Waiting[] = [];
  #patience: NodeJS.Timeout | null = null;
  /** The batch in progress; the next is sent when its answer arrives. */
  #running: readonly Waiting[] | null = null;
  /** A batch of one operation whose answer comes once it is on disk. */
  #late: readonly Waiting[] | null = null;
  /** Operations whose commits are not on disk yet, oldest first. */
  #unsynced: Unsynced[] = [];
  #scheduled = false;
  /** The queue length at the last turn, and the turns waited so far. */
  #gathered = 0;
  #turns = 0;
  /** The disk is nearly full, as the last answer said. */
  #low = false;
  #broken: Error | null = null;
  #closing: Pending | null = null;
  #closed: Promise<void> | null = null;
  /** The thread was told to close. */
  #isLeaving = false;
  readonly #backups: Pending[] = [];

  constructor(parts: ThreadClientParts) {
    this.#parts = parts;
    this.clock = parts.clock;
  }

  unit<Ops extends Operations>(name: string): UnitCaller<Ops> {
    const numbers = new Map<string, number>();
    for (const [number, entry] of this.#parts.entries.entries())
      if (entry.unit === name) numbers.set(entry.name, number);
    return ((operation: string, argument: unknown, manner: Manner = {}) => {
      const number = numbers.get(operation);
      if (number !== undefined) return this.#call(number, argument, manner);
      return Promise.reject(new Error(`the store has no operation ${name}.${operation}`));
    }) as never;
  }

  /**
   * True if new work can be taken on, and only this process uses the store: what it decides itself and then sends is done in the order of
   * its calls.
   */
  admits(): boolean {
    if (this.#parts.shared || this.#low || this.#broken !== null || this.#closing !== null) return false;
    return this.#queue.length + this.#patient.length < QUEUE_MAX / 2;
  }

  #call(number: number, argument: unknown, { mayBeLost, isPatient, onFailed }: Manner): Promise<unknown> {
    if (onFailed !== undefined) return this.#sendWithNext(number, argument, onFailed);
    if (this.#broken !== null) return Promise.reject(unavailable(this.#broken.message, true));
    if (this.#closing !== null) return Promise.reject(unavailable("the store is closed", true));
    const room = this.#parts.entries[number]?.admission ? QUEUE_MAX / 2 : QUEUE_MAX;
    if (this.#queue.length + this.#patient.length >= room)
      return Promise.reject(unavailable("too many operations wait", true));
    return new Promise((resolve, reject) => {
      const waiting = { number, argument, mayBeLost: mayBeLost === true, resolve, reject };
      (isPatient === true ? this.#patient : this.#queue).push(waiting);
      if (isPatient !== true) this.#isPressing = true;
      if (isPatient === true) this.#patience ??= setTimeout(this.#waitedLong, PATIENCE_MS);
      else this.#schedule();
    });
  }

  #sendWithNext(number: number, argument: unknown, onFailed: () => void): Promise<null> {
    if (this.#broken !== null || this.#closing !== null || this.#queue.length >= QUEUE_MAX) onFailed();
    else this.#queue.push({ number, argument, mayBeLost: true, resolve: nothing, reject: onFailed });
    if (this.#queue.length >= BATCH_MAX) this.#schedule();
    return NOBODY_WAITS;
  }

  /** Moves patient operations to the queue. */
  #hurry(): void {
    if (this.#patience !== null) clearTimeout(this.#patience);
    this.#patience = null;
    this.#queue = this.#queue.length === 0 ? this.#patient : [...this.#queue, ...this.#patient];
    this.#patient = [];
    this.#isPressing = true;
  }

  readonly #waitedLong = (): void => {
    this.#hurry();
    this.#schedule();
  };

  /**
   * Sends at once if nothing is in progress, otherwise at the end of the turn. If turns of a busy loop keep bringing several operations,
   * waiting a few turns saves commits and costs callers no time, since they would wait for the loop anyway. The same holds during a sync:
   * whatever is committed before it ends is on disk with the next.
   */
  #schedule(): void {
    if (this.#scheduled || this.#running !== null) return;
    this.#scheduled = true;
    this.#gathered = 0;
    this.#turns = 0;
    if (this.#isIdle) queueMicrotask(this.#turn);
    else setImmediate(this.#turn);
  }

  /** Nothing that was sent waits for the disk. */
  get #isIdle(): boolean {
    return this.#late === null && this.#unsynced.length === 0;
  }

  /** Its caller can use no answer before it is on disk. */
  readonly #canWait = ({ number, mayBeLost }: Waiting) => !mayBeLost && this.#parts.entries[number]?.isShort === true;

  /** One caller alone waits for these operations, and can use no answer before they are on disk. */
  #isLone(running: readonly Waiting[]): boolean {
    const waiting = running.filter(({ resolve }) => resolve !== nothing);
    return waiting.length === 1 && waiting.every(this.#canWait);
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

  #send(countMax = BATCH_MAX): void {
    if (this.#running !== null || this.#broken !== null) return;
    if (this.#patient.length > 0) this.#hurry();
    if (this.#queue.length === 0) {
      // The last connection to close a file empties its log, which must be the writing one. Send it once: a second message would have the
      // thread close descriptors whose numbers may be reused by then.
      if (this.#closing === null || !this.#isIdle || this.#isLeaving) return;
      this.#isLeaving = true;
      void this.#parts.reading.close().then(() => this.#parts.port.post({ kind: "close" }));
      return;
    }
    const running = this.#queue.length <= countMax ? this.#queue : this.#queue.slice(0, countMax);
    const behind = this.#queue.length <= countMax ? [] : this.#queue.slice(countMax);
    const calls: unknown[] = [];
    for (const { number, argument } of running) calls.push(number, argument);
    const isLate = this.#isIdle && behind.length === 0 && this.#isLone(running);
    const batch: Batch = { epochMs: this.clock.epochMs(), elapsedMs: this.clock.elapsedMs(), calls, isLate };
    try {
      this.#parts.port.post(JSON.stringify(batch));
    } catch (error) {
      // Too long to serialize or send, usually because of a single operation: nothing was done, so split the batch.
      if (running.length > 1) return this.#send(running.length >> 1);
      this.#queue = behind;
      for (const { reject } of running) reject(unavailable(String(error), true));
      return this.#schedule();
    }
    this.#queue = behind;
    if (isLate) this.#late = running;
    else this.#running = running;
    this.#isPressing = behind.length > 0;
  }

  hear(message: FromThread): void {
    if (typeof message === "string") this.#settle(JSON.parse(message) as BatchAnswer);
    else if (typeof message === "number") this.#synced(message);
    else if (message.kind === "fatal") this.break(new Error(message.error));
    else if (message.kind === "backup") {
      const waiting = this.#backups.shift();
      if (message.error === null) waiting?.resolve();
      else waiting?.reject(new Error(message.error));
    } else if (message.kind === "long-log") this.#writeLog(message.descriptor);
    else if (message.kind !== "ready") this.#parts.onNews?.(message);
  }

  /** If it is not possible now, the thread asks again. */
  #writeLog(descriptor: number): void {
    const written = (fatal: string | null) => {
      if (this.#broken === null) this.#parts.port.post({ kind: "log-written", fatal });
    };
    this.#parts.reading.inquire(WRITE_LOG, descriptor).then(
      (fatal) => written(fatal as string | null),
      () => written(null),
    );
  }

  #settle({ values, errors, commit, isLate, low }: BatchAnswer): void {
    const batch = (isLate ? this.#late : this.#running) ?? [];
    if (isLate) this.#late = null;
    else this.#running = null;
    this.#low = low === true;
    let at = 0;
    for (const value of values) {
      const waiting = batch[at] as Waiting;
      const error = errors?.[at];
      if (error !== undefined) waiting.reject(unavailable(error, true));
      else if (commit === 0 || waiting.mayBeLost) waiting.resolve(value);
      else this.#unsynced.push({ waiting, value, commit });
      at += 1;
    }
    // The thread stopped early because the answers got long: resend the rest.
    if (at < batch.length) {
      this.#queue = [...batch.slice(at), ...this.#queue];
      this.#isPressing = true;
    }
    if (this.#isPressing || this.#closing !== null) this.#schedule();
  }

  #synced(upTo: number): void {
    const after = this.#unsynced.findIndex(({ commit }) => commit > upTo);
    const done = after < 0 ? this.#unsynced : this.#unsynced.slice(0, after);
    this.#unsynced = after < 0 ? [] : this.#unsynced.slice(after);
    for (const { waiting, value } of done) waiting.resolve(value);
    if (this.#isPressing || this.#closing !== null) this.#schedule();
  }

  /** The rows of a long `SELECT`, read on a separate connection; the file must be shared with readers or processes. */
  ask(text: string, values: readonly Value[]): Promise<readonly ReadRow[]> {
    return this.#parts.reading.ask(text, values);
  }

  /** The answer of an inquiry, read the same way. */
  inquire(inquiry: URL, argument: unknown): Promise<unknown> {
    return this.#parts.reading.inquire(inquiry, argument);
  }

  /** Writes a consistent, durable copy to `path`. Rejects if it exists. */
  backup(path: string): Promise<void> {
    if (this.#broken !== null) return Promise.reject(this.#broken);
    return new Promise((resolve, reject) => {
      this.#backups.push({ resolve, reject });
      this.#parts.port.post({ kind: "backup", path });
    });
  }

  /** Sends a text to every process that shares the store, including this one. */
  tell(text: string): void {
    if (this.#broken === null && this.#closing === null) this.#parts.port.post({ kind: "tell", text });
  }

  /** Commits the queue; then closes the database and ends the thread, if it is this process's own. */
  close(): Promise<void> {
    if (this.#broken !== null) return Promise.resolve();
    this.#closed ??= new Promise((resolve, reject) => {
      this.#closing = { resolve, reject };
      this.#schedule();
    });
    return this.#closed;
  }

  /** The thread or its connection has ended, for the reason `why` unless it was asked to. */
  exited(why: Error): void {
    const isDone = this.#queue.length + this.#patient.length === 0 && this.#running === null && this.#late === null;
    if (this.#closing !== null && isDone) this.#closing.resolve();
    else this.break(why);
  }

  /** Running and queued operations may or may not be committed: rejects them, and accepts no more. */
  break(error: Error): void {
    if (this.#broken !== null) return;
    this.#broken = error;
    const unsynced = this.#unsynced.map(({ waiting }) => waiting);
    const sent = [...(this.#late ?? []), ...(this.#running ?? [])];
    for (const { reject } of [...unsynced, ...sent, ...this.#queue, ...this.#patient]) {
      reject(unavailable(error.message, false));
    }
    for (const { reject } of this.#backups) reject(error);
    this.#closing?.reject(error);
    this.#running = null;
    this.#late = null;
    this.#queue = [];
    this.#patient = [];
    this.#unsynced = [];
    this.#parts.port.cut();
    void this.#parts.reading.close();
    this.#parts.onFatal(error);
  }
}
