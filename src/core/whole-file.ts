// Files that appear whole and durable, or not at all, whenever the process that writes them ends.
import { existsSync } from "node:fs";
import { open, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

/** What a killed process leaves has this at the end of its name; the next one that writes the same file takes it over. */
const PART = ".part";

/** Has `write` fill a file beside `path`, and gives it that name once it is on the disk. Throws where `path` exists. */
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

/** Writes `text` to `path`, in the place of what is there: at any moment the file is the old one or the new one, whole. */
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

/** Has what was written to a file, or the names in a folder, reach the disk. */
export async function sync(place: string): Promise<void> {
  const handle = await open(place, "r");
  await handle.sync().finally(() => handle.close());
}
