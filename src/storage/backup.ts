// A consistent copy of the database while it is in use: between two checkpoints, commits leave the file itself alone.
import { constants } from "node:fs";
import { copyFile, open } from "node:fs/promises";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { CHECKPOINT_PAGES } from "./open-database.ts";

/**
 * Copies the database in `file` to `path`, as it is now, and makes the copy durable. Throws where `path` exists. Commits go
 * on meanwhile: they stay in the write-ahead log. The database must not be closed before this is done.
 */
export async function backupTo(database: DatabaseSync, file: string, path: string): Promise<void> {
  database.exec("PRAGMA wal_autocheckpoint = 0");
  try {
    const checkpoint = database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    if (checkpoint?.busy !== 0) throw new Error("the write-ahead log could not be written into the database");
    await copyFile(file, path, constants.COPYFILE_EXCL);
  } finally {
    database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  }
  for (const place of [path, dirname(path)]) {
    const handle = await open(place, "r");
    await handle.sync().finally(() => handle.close());
  }
}
