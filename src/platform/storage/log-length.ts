// How long the write-ahead log gets. To write it into the database takes tens of milliseconds and two syncs: the reading thread does that, so that no call
// waits for it, and the thread that commits writes the last pages alone, with which the log begins anew.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { CHECKPOINT_PAGES, isFatal } from "./open-database.ts";

/** Commits between two looks, which take 20 us each. */
const COMMITS_PER_LOOK = 32;
/** Of so many pages on, 64 MB, the log is to begin anew. */
const LOG_PAGES_MAX = 16_000;
/** Pages that the thread that commits may write itself, a few milliseconds' work. */
const REST_PAGES_MAX = 250;
/** Where the other thread does not get to it, SQLite does it within a commit, as it does for files without readers: 256 MB. */
const AT_LAST_PAGES = 64_000;

export class LogLength {
  readonly #look: StatementSync;
  readonly #write: StatementSync;
  readonly #ask: () => void;
  #commits = 0;
  #asked = false;
  /** Who must not be disturbed by it, such as a copy that is being made. */
  #held = false;
  #waiting: (() => void)[] = [];

  /** `ask` has the reading thread write what there is; `written` is to be called when it has, or could not; both methods throw what is fatal. */
  constructor(database: DatabaseSync, ask: () => void) {
    this.#look = database.prepare("PRAGMA wal_checkpoint(NOOP)");
    this.#write = database.prepare("PRAGMA wal_checkpoint(PASSIVE)");
    this.#ask = ask;
    database.exec(`PRAGMA wal_autocheckpoint = ${AT_LAST_PAGES}`);
  }

  /** To be called after each commit that has written. */
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

  /** Little is left in the log, and from then on nothing writes it into the database until `release`, but the thread that commits. */
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

/** What cannot be done now is done later: the commits before it are none the worse, as SQLite has it with what it writes within a commit. Throws what is fatal. */
function quietly(statement: StatementSync): Length | null {
  try {
    return statement.get() as unknown as Length;
  } catch (error) {
    if (isFatal(error)) throw error;
    return null;
  }
}
