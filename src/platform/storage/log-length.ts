// Limits the length of the write-ahead log. A checkpoint takes tens of milliseconds and two syncs: the reading thread does it, so that no
// call waits, and the committing thread writes only the last pages, after which the log starts anew.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { CHECKPOINT_PAGES, isFatal } from "./open-database.ts";

/** Commits between two checks, which take 20 us each. */
const COMMITS_PER_LOOK = 32;
/** From this many pages on, 64 MB, the log should start anew. */
const LOG_PAGES_MAX = 16_000;
/** The most pages that the committing thread writes itself, in a few milliseconds. */
const REST_PAGES_MAX = 250;
/** If the other thread cannot, SQLite checkpoints within a commit, as it does for files without readers: 256 MB. */
const AT_LAST_PAGES = 64_000;

export class LogLength {
  readonly #look: StatementSync;
  readonly #write: StatementSync;
  readonly #ask: () => void;
  #commits = 0;
  #asked = false;
  /** Paused for work that a checkpoint would disturb, such as a copy. */
  #held = false;
  #waiting: (() => void)[] = [];

  /**
   * `ask` requests a checkpoint by the reading thread; call `written` once it has ended, successfully or not. Both methods throw fatal
   * errors.
   */
  constructor(database: DatabaseSync, ask: () => void) {
    this.#look = database.prepare("PRAGMA wal_checkpoint(NOOP)");
    this.#write = database.prepare("PRAGMA wal_checkpoint(PASSIVE)");
    this.#ask = ask;
    database.exec(`PRAGMA wal_autocheckpoint = ${AT_LAST_PAGES}`);
  }

  /** Call after each commit that wrote. */
  committed(): void {
    this.#commits += 1;
    if (this.#commits < COMMITS_PER_LOOK || this.#asked || this.#held) return;
    this.#commits = 0;
    const { pages, rest } = this.#length();
    if (rest >= CHECKPOINT_PAGES || (pages >= LOG_PAGES_MAX && rest > 0)) this.#askFor();
  }

  written(): void {
    this.#asked = false;
    for (const resolve of this.#waiting) resolve();
    this.#waiting = [];
    if (this.#held) return;
    const { pages, rest } = this.#length();
    if (pages >= LOG_PAGES_MAX && rest > 0 && rest <= REST_PAGES_MAX) quietly(this.#write);
  }

  /** Resolves when little is left in the log; until `release`, only the committing thread may checkpoint. */
  async hold(): Promise<void> {
    this.#held = true;
    if (!this.#asked && this.#length().rest > REST_PAGES_MAX) this.#askFor();
    if (this.#asked) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  release(): void {
    this.#held = false;
  }

  #askFor(): void {
    this.#asked = true;
    this.#ask();
  }

  /** In pages; `rest` is not in the database yet. */
  #length(): { readonly pages: number; readonly rest: number } {
    const { log, checkpointed } = quietly(this.#look) ?? NO_LOG;
    return { pages: log, rest: log - checkpointed };
  }
}

interface Length {
  readonly log: number;
  readonly checkpointed: number;
}

const NO_LOG: Length = { log: 0, checkpointed: 0 };

/**
 * Ignores what is not possible now and can be done later, as SQLite does for checkpoints within a commit: the commits before it are
 * unaffected. Throws fatal errors.
 */
function quietly(statement: StatementSync): Length | null {
  try {
    return statement.get() as unknown as Length;
  } catch (error) {
    if (isFatal(error)) throw error;
    return null;
  }
}
