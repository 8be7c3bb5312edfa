// Syncs the write-ahead log off the thread that writes it: the thread continues during a sync, and its commits meanwhile go with the next
// one.
import { closeSync, fdatasync, openSync } from "node:fs";

export interface LogSyncEvents {
  /** This commit, and all before it, are on disk. */
  synced(commit: number): void;
  /** Commits may or may not be on disk; no further sync can tell. */
  failed(error: Error): void;
}

/** Tracks the commits of a log that SQLite does not sync itself (`synchronous = NORMAL`). */
export class LogSync {
  readonly #path: string;
  readonly #events: LogSyncEvents;
  /** SQLite creates the log with the first commit, and keeps it until the database is closed. Its locks are not on this file. */
  #file: number | null = null;
  #committed = 0;
  #synced = 0;
  #isSyncing = false;

  constructor(path: string, events: LogSyncEvents) {
    this.#path = path;
    this.#events = events;
  }

  /** The last commit that is not on disk; 0: all are. */
  get pending(): number {
    return this.#committed > this.#synced ? this.#committed : 0;
  }

  /** Call after each commit that wrote. */
  committed(): void {
    this.#committed += 1;
    this.#sync();
  }

  #sync(): void {
    if (this.#isSyncing || this.pending === 0) return;
    this.#isSyncing = true;
    const upTo = this.#committed;
    this.#file ??= openSync(this.#path, "r+");
    fdatasync(this.#file, (error) => {
      // Never retry a failed sync: the kernel may have dropped the pages that it could not write.
      if (error !== null) return this.#events.failed(error);
      this.#isSyncing = false;
      this.#synced = upTo;
      this.#events.synced(upTo);
      this.#sync();
    });
  }

  /** Call when everything is synced. */
  close(): void {
    if (this.#file !== null) closeSync(this.#file);
  }
}
