// The event loop's side of the reading thread: asks long questions of a database without holding the loop or those who write.
import type { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { GatewayError } from "../../core/errors.ts";
import { THREAD_FLAGS } from "../../core/thread-flags.ts";

/** Questions that may wait; people and their reports ask them, calls never do. */
const WAITING_MAX = 32;
const RETRY_AFTER_SECONDS = 5;

export type Value = string | number | null;
export type ReadRow = Readonly<Record<string, Value>>;

/** Asks for the next rows of an answer, of which the first have come. */
export type GoOn = "go on";

/** A `SELECT`, or what an inquiry is asked. */
export type Question =
  | { readonly text: string; readonly values: readonly Value[] }
  | { readonly inquiry: string; readonly argument: unknown };

export interface Reply {
  /** Rows, or what the inquiry has answered. */
  readonly value: unknown;
  readonly error: string | null;
  /** There are more rows, which come when they are asked for: to take over all of them at once would hold up the loop. */
  readonly more: boolean;
}

/**
 * What a file exports as `openInquiry`, for what takes more than one `SELECT`: it reads for some milliseconds and answers, and goes on when it is asked
 * again, so that others are answered between. Its database can only be read.
 */
export type OpenInquiry = (database: DatabaseSync) => (argument: never) => unknown;

export interface ReadingThread {
  /** The rows of a `SELECT` over what has been committed. Rejects with `ledger_unavailable`. */
  ask(text: string, values: readonly Value[]): Promise<readonly ReadRow[]>;
  /** What the inquiry of a file answers; it is opened once, when it is first asked. Rejects with `ledger_unavailable`. */
  inquire(inquiry: URL, argument: unknown): Promise<unknown>;
  /** What waits is refused. To be closed before the thread that writes the file. */
  close(): Promise<void>;
}

interface Asking {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

function unavailable(detail: string): GatewayError {
  return new GatewayError("ledger_unavailable", {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    cause: new Error(detail),
    nothingDone: true,
  });
}

/** Reads `file`, which another thread of this process has open. The thread starts with the first question. */
export function openReadingThread(file: string): ReadingThread {
  let waiting: Asking[] = [];
  /** The first ones of an answer that comes in parts. */
  let rows: ReadRow[] = [];
  let worker: Worker | null = null;
  let closed = false;

  function fail(detail: string): void {
    worker = null;
    const left = waiting;
    waiting = [];
    rows = [];
    for (const { reject } of left) reject(unavailable(detail));
  }

  function start(): Worker {
    const started = new Worker(new URL("./reading-worker.ts", import.meta.url), {
      workerData: { file },
      execArgv: [...THREAD_FLAGS],
    });
    started.unref();
    // Questions are answered in the order in which they came.
    started.on("message", ({ value, error, more }: Reply) => {
      if (more) {
        rows.push(...(value as ReadRow[]));
        setImmediate(() => started.postMessage("go on" satisfies GoOn));
        return;
      }
      const first = waiting.shift();
      if (error !== null) first?.reject(unavailable(error));
      else if (rows.length === 0) first?.resolve(value);
      else first?.resolve([...rows, ...(value as ReadRow[])]);
      rows = [];
    });
    started.on("error", (error) => fail(String(error)));
    started.on("exit", () => {
      if (worker === started) fail("the reading thread ended");
    });
    return started;
  }

  function put(question: Question): Promise<unknown> {
    if (closed) return Promise.reject(unavailable("the store is closed"));
    if (waiting.length >= WAITING_MAX) return Promise.reject(unavailable("too many reports are being made"));
    worker ??= start();
    const asked = worker;
    return new Promise((resolve, reject) => {
      waiting.push({ resolve, reject });
      asked.postMessage(question);
    });
  }

  return {
    ask: (text, values) => put({ text, values }) as Promise<readonly ReadRow[]>,
    inquire: ({ href }, argument) => put({ inquiry: href, argument }),
    async close() {
      closed = true;
      const last = worker;
      fail("the store is closed");
      await last?.terminate();
    },
  };
}
