// Writes files atomically and durably: complete, or not at all, even if the process is killed.
import { existsSync } from "node:fs";
import { open, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

/** The suffix of a partial file; the next writer of the same file overwrites what a killed process left. */
const PART = ".part";

/** Lets `write` fill a temporary file beside `path`, then renames it once it is on disk. Throws where `path` exists. */
export async function writeWhole(path: string, write: (part: string) => Promise<void>): Promise<void> {
  const part = `${path}${PART}`;
  requireFree(path);
  try {
    await rm(part, { force: true });
    await write(part);
    await sync(part);
    requireFree(path);
    await rename(part, path);
    await sync(dirname(path));
  } finally {
    await rm(part, { force: true });
  }
}

/** Replaces the file at `path` with `text`: readers see the old file or the new one, never a mix. */
export async function replaceWhole(path: string, text: string): Promise<void> {
  const part = `${path}${PART}`;
  try {
    await writeFile(part, text, { mode: 0o600 });
    await sync(part);
    await rename(part, path);
    await sync(dirname(path));
  } finally {
    await rm(part, { force: true });
  }
}

function requireFree(path: string): void {
  if (existsSync(path)) throw new Error(`${path} is there already`);
}

/** Syncs a file's content, or a folder's names, to disk. */
export async function sync(place: string): Promise<void> {
  const handle = await open(place, "r");
  await handle.sync().finally(() => handle.close());
}
