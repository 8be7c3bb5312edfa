// Syncs the write-ahead log. Where syncs are quick, the committing thread does them itself, which saves waking two threads. Otherwise they
// run off the thread: it continues, and its commits meanwhile go with the next sync.
import { closeSync, fdatasync, fdatasyncSync, openSync } from "node:fs";
import type { Clock } from "../../core/clock.ts";

export interface LogSyncEvents {
  /** This commit, and all before it, are on disk. */
  synced(commit: number): void;
  /** Commits may or may not be on disk; no further sync can tell. */
  failed(error: Error): void;
}

/** The thread itself syncs while the last ones took less, on average. */
const OWN_SYNC_MS_MAX = 1;
/** The weight of the latest sync in that average. */
const LATEST_WEIGHT = 0.2;

/** Tracks the commits of a log that SQLite does not sync itself (`synchronous = NORMAL`). */
export class LogSync {
  readonly #path: string;
  readonly #events: LogSyncEvents;
  readonly #clock: Clock;
  /** SQLite creates the log with the first commit, and keeps it until the database is closed. Its locks are not on this file. */
  #file: number | null = null;
  #committed = 0;
  #synced = 0;
  #isSyncing = false;
  #averageMs = 2 * OWN_SYNC_MS_MAX;

  constructor(path: string, events: LogSyncEvents, clock: Clock) {
    this.#path = path;
    this.#events = events;
    this.#clock = clock;
  }

  /** The last commit that is not on disk; 0: all are. */
  get pending(): number {
    return this.#committed > this.#synced ? this.#committed : 0;
  }

  /** Call after each commit that wrote. */
  committed(): void {
    this.#committed += 1;
    if (!this.#isSyncing && this.#averageMs < OWN_SYNC_MS_MAX) this.#syncOnThread();
    else this.#sync();
  }

  #syncOnThread(): void {
    const fromMs = this.#clock.elapsedMs();
    try {
      this.#file ??= openSync(this.#path, "r+");
      fdatasyncSync(this.#file);
    } catch (error) {
      return this.#events.failed(error as Error);
    }
    this.#took(this.#clock.elapsedMs() - fromMs);
    this.#synced = this.#committed;
  }

  #took(ms: number): void {
    this.#averageMs += LATEST_WEIGHT * (ms - this.#averageMs);
  }

  #sync(): void {
    if (this.#isSyncing || this.pending === 0) return;
    this.#isSyncing = true;
    const upTo = this.#committed;
    const fromMs = this.#clock.elapsedMs();
    this.#file ??= openSync(this.#path, "r+");
    fdatasync(this.#file, (error) => {
      // Never retry a failed sync: the kernel may have dropped the pages that it could not write.
      if (error !== null) return this.#events.failed(error);
      this.#isSyncing = false;
      this.#took(this.#clock.elapsedMs() - fromMs);
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
