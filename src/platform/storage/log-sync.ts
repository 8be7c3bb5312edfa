// Brings the write-ahead log to the disk beside the thread that writes it: while one sync runs the thread goes on, and what it
// commits meanwhile goes with the next.
import { closeSync, fdatasync, openSync } from "node:fs";

export interface LogSyncEvents {
  /** This commit, and all before it, are on disk. */
  synced(commit: number): void;
  /** What was committed may or may not be on disk; no other sync can tell. */
  failed(error: Error): void;
}

/** Counts the commits of a log that SQLite does not sync itself (`synchronous = NORMAL`). */
export class LogSync {
  readonly #path: string;
  readonly #events: LogSyncEvents;
  /** SQLite makes the log with the first commit, and has it until the database is closed. Its own locks are not on this file. */
  #file: number | null = null;
  #committed = 0;
  #synced = 0;
  #isSyncing = false;

  constructor(path: string, events: LogSyncEvents) {
    this.#path = path;
    this.#events = events;
  }

  /** The last commit, where it is not on disk; 0: it is. */
  get pending(): number {
    return this.#committed > this.#synced ? this.#committed : 0;
  }

  /** To be called after each commit that has written. */
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
      // A failed sync is never tried again: the kernel may have dropped what it could not write.
      if (error !== null) return this.#events.failed(error);
      this.#isSyncing = false;
      this.#synced = upTo;
      this.#events.synced(upTo);
      this.#sync();
    });
  }

  /** To be called when all is synced. */
  close(): void {
    if (this.#file !== null) closeSync(this.#file);
  }
}
