// A consistent copy of the database while it is in use: between two checkpoints, commits leave the file itself alone.
import { rmSync } from "node:fs";
import { chmod, copyFile } from "node:fs/promises";
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { CHECKPOINT_PAGES, openDatabase, sqliteCode } from "./open-database.ts";
import { writeWhole } from "./whole-file.ts";

/** A report that is being read keeps the log from being emptied for as long as it takes. */
const CHECKPOINT_TRIES = 100;
const CHECKPOINT_PAUSE_MS = 100;

async function emptyLog(database: DatabaseSync): Promise<void> {
  for (let tries = 1; database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.busy !== 0; tries++) {
    if (tries === CHECKPOINT_TRIES) throw new Error("the write-ahead log could not be written into the database");
    await pause(CHECKPOINT_PAUSE_MS);
  }
}

/**
 * Copies the database in `file` to `path`, as it is now, and makes the copy durable. Throws where `path` exists. Commits go
 * on meanwhile: they stay in the write-ahead log. The database must not be closed before this is done.
 */
export async function backupTo(database: DatabaseSync, file: string, path: string): Promise<void> {
  await writeWhole(path, async (part) => {
    database.exec("PRAGMA wal_autocheckpoint = 0");
    try {
      await emptyLog(database);
      await copyFile(file, part);
    } finally {
      database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    }
  });
}

/**
 * Puts a copy that `backupTo` wrote to `path`, which must not exist. Throws a sentence for the operator, and leaves nothing, where
 * the copy is damaged, or is no database with tables of `unit`.
 */
export async function takeBack(copy: string, path: string, unit: string): Promise<void> {
  await writeWhole(path, async (part) => {
    await copyFile(copy, part);
    await chmod(part, 0o600);
    try {
      requireSound(part, unit);
    } catch (error) {
      if (sqliteCode(error) === 0) throw new Error(`${copy} ${error instanceof Error ? error.message : error}`);
      throw new Error(`${copy} is damaged, cut off, or no database at all`, { cause: error });
    } finally {
      for (const end of ["-wal", "-shm", "-journal"]) rmSync(`${part}${end}`, { force: true });
    }
  });
}

function requireSound(file: string, unit: string): void {
  const database = openDatabase(file);
  try {
    const { units } =
      database.prepare("SELECT count(*) AS units FROM sqlite_schema WHERE name = 'schema_version'").get() ?? {};
    const known = units === 1 && database.prepare("SELECT 1 FROM schema_version WHERE unit = ?").get(unit);
    if (!known) throw new Error(`holds no ${unit} of this program`);
    const [found] = database.prepare("PRAGMA quick_check(1)").all();
    if (found?.quick_check !== "ok") throw new Error(`is damaged: ${String(found?.quick_check)}`);
  } finally {
    database.close();
  }
}
