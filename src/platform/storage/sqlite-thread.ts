// Starts this process's storage thread, and opens its database in it.
import { Worker } from "node:worker_threads";
import type { Clock } from "../../core/clock.ts";
import { THREAD_FLAGS } from "../../core/thread-flags.ts";
import { DISK_BOUNDS, type DiskBounds } from "./disk-guard.ts";
import type { Sharing } from "./open-database.ts";
import { openReadingThread } from "./reading-thread.ts";
import { type SqliteThread, ThreadClient } from "./thread-client.ts";
import type { FromThread, OperationEntry, StoreNews, ThreadStart, ToThread } from "./wire.ts";

export interface SqliteThreadOptions {
  readonly file: string;
  /** Unit name to the URL of the file that exports `openUnit`. */
  readonly units: Readonly<Record<string, URL>>;
  readonly clock: Clock;
  readonly disk?: DiskBounds;
  /** Usually none. Units of a file that processes share keep nothing in memory. */
  readonly sharing?: Sharing;
  /** A socket path for other processes of this machine, which use the same clock; requires sharing `readers`. Absent: no others. */
  readonly serve?: string;
  readonly onNews?: (news: StoreNews) => void;
  /** The store is permanently broken: everything was rejected, and the process should exit. */
  readonly onFatal: (error: Error) => void;
}

/** Starts the thread and opens its database. Rejects with a message for the operator if that fails. */
export async function openSqliteThread(options: SqliteThreadOptions): Promise<SqliteThread> {
  const { clock, file, onFatal, onNews, serve = null } = options;
  const units = Object.fromEntries(Object.entries(options.units).map(([name, url]) => [name, url.href]));
  const disk = options.disk ?? DISK_BOUNDS;
  const time = { epochMs: clock.epochMs(), elapsedMs: clock.elapsedMs() };
  const start: ThreadStart = { file, sharing: options.sharing ?? "none", units, disk, socket: serve, ...time };
  const worker = new Worker(new URL("./sqlite-worker.ts", import.meta.url), {
    workerData: start,
    execArgv: [...THREAD_FLAGS],
  });
  const entries = await whenReady(worker);
  const port = { post: (message: ToThread) => worker.postMessage(message), cut: () => void worker.terminate() };
  const reading = openReadingThread(file);
  const client = new ThreadClient({
    port,
    entries,
    reading,
    clock,
    shared: serve !== null || start.sharing === "processes",
    onFatal,
    onNews,
  });
  worker.on("message", (message: FromThread) => client.hear(message));
  worker.on("error", (error) => client.break(error instanceof Error ? error : new Error(String(error))));
  worker.on("exit", () => client.exited(new Error("the storage thread ended")));
  return client;
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
