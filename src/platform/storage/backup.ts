// A consistent copy of the database while it is in use: between two checkpoints, commits do not touch the main file.
import { read, rmSync } from "node:fs";
import { chmod, copyFile, type FileHandle, open } from "node:fs/promises";
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { writeWhole } from "../../core/whole-file.ts";
import { type OpenDatabase, openDatabase, sqliteCode } from "./open-database.ts";

/** A running report delays the checkpoint for as long as it reads. */
const CHECKPOINT_TRIES = 350;
const CHECKPOINT_PAUSE_MS = 100;

async function emptyLog(database: DatabaseSync): Promise<void> {
  const waitMs = Number(database.prepare("PRAGMA busy_timeout").get()?.timeout);
  // Calls must not wait with it for a report to end.
  database.exec("PRAGMA busy_timeout = 0");
  try {
    await emptyWhenFree(database);
  } finally {
    database.exec(`PRAGMA busy_timeout = ${waitMs}`);
  }
}

async function emptyWhenFree(database: DatabaseSync): Promise<void> {
  for (let tries = 1; database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.busy !== 0; tries++) {
    if (tries === CHECKPOINT_TRIES) throw new Error("the write-ahead log could not be written into the database");
    await pause(CHECKPOINT_PAUSE_MS);
  }
}

/** The size of a copy step, and so of one burst of writes; between steps, commits of calls can sync. */
const STEP_BYTES = 1024 * 1024;
const UNSYNCED_BYTES_MAX = 8 * STEP_BYTES;

const readAt = promisify(read);

/**
 * Copies an open file without blocking the disk for long: in small steps, between which the thread does other work, each synced before the
 * next ones pile up. Reads through its descriptor, because closing another descriptor would release the file's locks.
 */
export async function copySteps(source: number, target: FileHandle): Promise<void> {
  const buffer = Buffer.allocUnsafe(STEP_BYTES);
  for (let copied = 0, unsynced = 0; ; ) {
    const { bytesRead } = await readAt(source, buffer, 0, STEP_BYTES, copied);
    if (bytesRead === 0) return;
    for (let at = 0; at < bytesRead; ) at += (await target.write(buffer, at, bytesRead - at)).bytesWritten;
    copied += bytesRead;
    unsynced += bytesRead;
    if (unsynced < UNSYNCED_BYTES_MAX) continue;
    await target.datasync();
    unsynced = 0;
  }
}

/**
 * Copies the current database to `path` and makes the copy durable. Throws if `path` exists. Commits continue meanwhile: they stay in the
 * write-ahead log. Do not close the database before this is done.
 */
export async function backupTo({ database, descriptor }: OpenDatabase, path: string): Promise<void> {
  await writeWhole(path, async (part) => {
    const pages = Number(database.prepare("PRAGMA wal_autocheckpoint").get()?.wal_autocheckpoint);
    database.exec("PRAGMA wal_autocheckpoint = 0");
    try {
      await emptyLog(database);
      const target = await open(part, "wx", 0o600);
      await copySteps(descriptor, target).finally(() => target.close());
    } finally {
      database.exec(`PRAGMA wal_autocheckpoint = ${pages}`);
    }
  });
}

/**
 * Moves a copy written by `backupTo` to `path`, which must not exist. If the copy is damaged or has no tables of `unit`, throws a message
 * for the operator and leaves nothing behind.
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
