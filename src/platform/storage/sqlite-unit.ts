// The interface of a store in the storage thread's database, such as the ledger: tables, operations, a flush.
import type { DatabaseSync } from "node:sqlite";

/** The gateway's clock when the running batch was sent; the thread has no other. */
export interface StoreTime {
  readonly epochMs: number;
  readonly elapsedMs: number;
}

/** Each takes one argument and returns one value, both plain JSON. They run inside the batch's transaction. */
export type Operations = Readonly<Record<string, (argument: never) => unknown>>;

export interface SqliteUnit {
  readonly operations: Operations;
  /** Operations that admit new work: they are refused first when the disk or the queue is nearly full. */
  readonly admissions: readonly string[];
  /** Whether an operation with this argument writes nothing: alone, it needs no transaction. Default: it may write. */
  readonly unwritten?: Readonly<Record<string, (argument: never) => boolean>>;
  /** Operations that every call makes and whose answers always have few fields, so that their length need not be checked. */
  readonly short?: readonly string[];
  /** Writes rows that changed in memory and must be in this commit; called once before each. */
  flush(): void;
  /** True if the unit has enough deferred writes that they should run once the queue is empty. */
  isBehind?(): boolean;
  /** Writes what commits have left for later. */
  catchUp?(): void;
  /**
   * Called after a commit, for units with state in memory beyond their rows. `tell` reports accounts whose cached data in the processes is
   * outdated.
   */
  committed?(tell: (accountId: string) => void): void;
  /** Drops all state in memory: the transaction was rolled back. */
  reload(): void;
}

/** The export `openUnit` of a unit's file. */
export type OpenUnit = (database: DatabaseSync, time: StoreTime) => SqliteUnit;

/** What the file of a unit exports. */
export interface UnitModule {
  readonly openUnit: OpenUnit;
  /** How many schema steps the unit's tables have. */
  readonly schemaVersion?: number;
}

const VERSIONS = "CREATE TABLE IF NOT EXISTS schema_version (unit TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT";

/** The schema steps that the unit's tables have in this database; 0: it has no such tables. */
export function migratedTo(database: DatabaseSync, unit: string): number {
  database.exec(VERSIONS);
  return Number(database.prepare("SELECT version FROM schema_version WHERE unit = ?").get(unit)?.version ?? 0);
}

/** Runs the schema steps that the database does not have yet. Only ever append steps. */
export function migrate(database: DatabaseSync, unit: string, steps: readonly string[]): void {
  const done = migratedTo(database, unit);
  if (done > steps.length) {
    throw new Error(`the database's ${unit} is at version ${done}, newer than this program's ${steps.length}`);
  }
  for (const step of steps.slice(done)) database.exec(step);
  database.prepare("INSERT OR REPLACE INTO schema_version (unit, version) VALUES (?, ?)").run(unit, steps.length);
}
