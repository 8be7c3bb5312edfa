// The event-loop side of the reading thread: runs long queries without blocking the loop or writers.
import type { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { THREAD_FLAGS } from "../../core/thread-flags.ts";
import { unavailable } from "./thread-client.ts";

/** The most queued queries; they come from people and reports, never from calls. */
const WAITING_MAX = 32;

export type Value = string | number | null;
export type ReadRow = Readonly<Record<string, Value>>;

/** Requests the next rows of an answer. */
export type GoOn = "go on";

/** A `SELECT`, or the argument of an inquiry. */
export type Question =
  | { readonly text: string; readonly values: readonly Value[] }
  | { readonly inquiry: string; readonly argument: unknown };

export interface Reply {
  /** Rows, or the inquiry's answer. */
  readonly value: unknown;
  readonly error: string | null;
  /** More rows follow on request: receiving all of them at once would block the loop. */
  readonly more: boolean;
}

/**
 * The export `openInquiry` of a file, for work that takes more than one `SELECT`: it reads for some milliseconds, answers, and continues
 * when called again, so that other queries run in between. Its database is read-only.
 */
export type OpenInquiry = (database: DatabaseSync) => (argument: never) => unknown;

export type ReadingThread = ReturnType<typeof openReadingThread>;

interface Asking {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** Reads `file`, which another thread of this process has open. The thread starts with the first query. */
export function openReadingThread(file: string) {
  let waiting: Asking[] = [];
  /** The rows so far of an answer that arrives in parts. */
  let rows: ReadRow[] = [];
  let worker: Worker | null = null;
  let closed = false;

  function fail(detail: string): void {
    worker = null;
    const left = waiting;
    waiting = [];
    rows = [];
    for (const { reject } of left) reject(unavailable(detail, true));
  }

  function start(): Worker {
    const started = new Worker(new URL("./reading-worker.ts", import.meta.url), {
      workerData: { file },
      execArgv: [...THREAD_FLAGS],
    });
    started.unref();
    // Answers come in the order of the questions.
    started.on("message", ({ value, error, more }: Reply) => {
      if (more) {
        rows.push(...(value as ReadRow[]));
        setImmediate(() => started.postMessage("go on" satisfies GoOn));
        return;
      }
      const first = waiting.shift();
      if (error !== null) first?.reject(unavailable(error, true));
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
    if (closed) return Promise.reject(unavailable("the store is closed", true));
    if (waiting.length >= WAITING_MAX) return Promise.reject(unavailable("too many reports are being made", true));
    worker ??= start();
    const asked = worker;
    return new Promise((resolve, reject) => {
      waiting.push({ resolve, reject });
      asked.postMessage(question);
    });
  }

  return {
    /** The rows of a `SELECT` on committed data. Rejects with `ledger_unavailable`. */
    ask: (text: string, values: readonly Value[]) => put({ text, values }) as Promise<readonly ReadRow[]>,
    /** The answer of a file's inquiry, which is opened on first use. Rejects with `ledger_unavailable`. */
    inquire: ({ href }: URL, argument: unknown) => put({ inquiry: href, argument }),
    /** Rejects queued queries. Close it before the thread that writes the file. */
    async close() {
      closed = true;
      const last = worker;
      fail("the store is closed");
      await last?.terminate();
    },
  };
}
