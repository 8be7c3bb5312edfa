// A consistent copy of the database while it is in use: pages are copied a few at a time, between the batches.
import { closeSync, existsSync, fsyncSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { backup, type DatabaseSync } from "node:sqlite";

const PAGES_PER_STEP = 500;

/** Copies `database` to `path` and makes the copy durable. Throws where `path` exists. */
export async function backupTo(database: DatabaseSync, path: string): Promise<void> {
  if (existsSync(path)) throw new Error(`${path} exists; a backup never overwrites a file`);
  closeSync(openSync(path, "wx", 0o600));
  await backup(database, path, { rate: PAGES_PER_STEP });
  for (const place of [path, dirname(path)]) {
    const handle = openSync(place, "r");
    fsyncSync(handle);
    closeSync(handle);
  }
}
