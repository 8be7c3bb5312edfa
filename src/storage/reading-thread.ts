// The event loop's side of the reading thread: asks long questions of a database without holding the loop or those who write.
import { Worker } from "node:worker_threads";
import { GatewayError } from "../errors.ts";
import { THREAD_FLAGS } from "../thread-flags.ts";

/** Questions that may wait; people and their reports ask them, calls never do. */
const WAITING_MAX = 32;
const RETRY_AFTER_SECONDS = 5;

export type Value = string | number | null;
export type ReadRow = Readonly<Record<string, Value>>;

export interface Question {
  readonly text: string;
  readonly values: readonly Value[];
}

export interface Reply {
  readonly rows: readonly ReadRow[];
  readonly error: string | null;
}

export interface ReadingThread {
  /** The rows of a `SELECT` over what has been committed. Rejects with `ledger_unavailable`. */
  ask(text: string, values: readonly Value[]): Promise<readonly ReadRow[]>;
  /** What waits is refused. To be closed before the thread that writes the file. */
  close(): Promise<void>;
}

interface Asking {
  resolve(rows: readonly ReadRow[]): void;
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
  let worker: Worker | null = null;
  let closed = false;

  function fail(detail: string): void {
    worker = null;
    const left = waiting;
    waiting = [];
    for (const { reject } of left) reject(unavailable(detail));
  }

  function start(): Worker {
    const started = new Worker(new URL("./reading-worker.ts", import.meta.url), {
      workerData: { file },
      execArgv: [...THREAD_FLAGS],
    });
    started.unref();
    // Questions are answered in the order in which they came.
    started.on("message", ({ rows, error }: Reply) => {
      const first = waiting.shift();
      if (error === null) first?.resolve(rows);
      else first?.reject(unavailable(error));
    });
    started.on("error", (error) => fail(String(error)));
    started.on("exit", () => {
      if (worker === started) fail("the reading thread ended");
    });
    return started;
  }

  return {
    ask(text, values) {
      if (closed) return Promise.reject(unavailable("the store is closed"));
      if (waiting.length >= WAITING_MAX) return Promise.reject(unavailable("too many reports are being made"));
      worker ??= start();
      const asked = worker;
      return new Promise((resolve, reject) => {
        waiting.push({ resolve, reject });
        asked.postMessage({ text, values } satisfies Question);
      });
    },
    async close() {
      closed = true;
      const last = worker;
      fail("the store is closed");
      await last?.terminate();
    },
  };
}
