// What the storage thread asks of a store that lives in its database, such as the ledger: tables, operations, a flush.
import type { DatabaseSync } from "node:sqlite";

/** The gateway's clock as it was when the running batch was sent; the thread has no other. */
export interface StoreTime {
  readonly epochMs: number;
  readonly elapsedMs: number;
}

/** Each takes one argument and answers one value, both plain JSON. They run inside the batch's transaction. */
export type Operations = Readonly<Record<string, (argument: never) => unknown>>;

export interface SqliteUnit {
  readonly operations: Operations;
  /** Operations that take on new work: they are refused first when the disk or the queue is nearly full. */
  readonly admissions: readonly string[];
  /** Operations of every call whose answer is a few fields, whatever is kept: how long it is need not be counted. */
  readonly short?: readonly string[];
  /** Writes the rows that changed in memory; called once before each commit. */
  flush(): void;
  /**
   * The transaction is committed; for those whose memory knows more than their rows. `tell` hears of which accounts it has changed what
   * processes remember.
   */
  committed?(tell: (accountId: string) => void): void;
  /** Forgets everything read or changed: the transaction was rolled back. */
  reload(): void;
}

/** What a unit's file exports as `openUnit`. */
export type OpenUnit = (database: DatabaseSync, time: StoreTime) => SqliteUnit;

/** Runs the steps of a unit's schema that the database has not seen. Steps are only ever added at the end. */
export function migrate(database: DatabaseSync, unit: string, steps: readonly string[]): void {
  database.exec("CREATE TABLE IF NOT EXISTS schema_version (unit TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT");
  const row = database.prepare("SELECT version FROM schema_version WHERE unit = ?").get(unit);
  const done = Number(row?.version ?? 0);
  if (done > steps.length) {
    throw new Error(`the database's ${unit} is at version ${done}, newer than this program's ${steps.length}`);
  }
  for (const step of steps.slice(done)) database.exec(step);
  database.prepare("INSERT OR REPLACE INTO schema_version (unit, version) VALUES (?, ?)").run(unit, steps.length);
}
