// Where updates are kept: a dated file each below DATA_DIR/models, of which the newest is in force. Going back is a new name for that one.
import { mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { inSlices } from "../../slices.ts";
import { replaceWhole, sync } from "../../storage/whole-file.ts";
import { type ModelsUpdate, updateOf } from "./update.ts";

/** How many can be gone back to. */
const KEPT_MAX = 12;
const FILE = /^\d{8}T\d{6}\.json$/;
/** Behind the name of an update that was gone back from. */
const WITHDRAWN = ".withdrawn";

function folderOf(dataDir: string): string {
  return join(dataDir, "models");
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  return names.filter((name) => FILE.test(name)).sort();
}

/** The stamp of an update: `20261126T002503`. */
export function stampOf({ takenAt }: Pick<ModelsUpdate, "takenAt">): string {
  return takenAt.slice(0, 19).replace(/[-:]/g, "");
}

/** The update in force, or one of those before it (1: the last); null: there is none. Throws where it is not as it must be, with the file's name. */
export async function keptUpdate(dataDir: string, back = 0): Promise<ModelsUpdate | null> {
  const folder = folderOf(dataDir);
  const file = (await filesIn(folder)).at(-1 - back);
  if (file === undefined) return null;
  const path = join(folder, file);
  try {
    return await inSlices(updateOf(await readFile(path, "utf8")));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`${path}: ${why}; \`tollgate models rollback\` goes back to the one before`);
  }
}

/** When the updates that are kept were taken, newest first. */
export async function keptStamps(dataDir: string): Promise<readonly string[]> {
  return (await filesIn(folderOf(dataDir))).map((name) => name.slice(0, -5)).reverse();
}

/** Keeps an update, on the disk when it answers; the oldest beyond the bound go. `json` is its text. */
export async function keepUpdate(
  dataDir: string,
  update: Pick<ModelsUpdate, "takenAt">,
  json = JSON.stringify(update),
): Promise<void> {
  const folder = folderOf(dataDir);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await replaceWhole(join(folder, `${stampOf(update)}.json`), `${json}\n`);
  const files = await filesIn(folder);
  for (const name of files.slice(0, Math.max(0, files.length - KEPT_MAX)))
    await rm(join(folder, name), { force: true });
}

/** Goes back to the update before the newest. Answers the stamp of the one that is no more; null: there is none. */
export async function withdrawUpdate(dataDir: string): Promise<string | null> {
  const folder = folderOf(dataDir);
  const newest = (await filesIn(folder)).at(-1);
  if (newest === undefined) return null;
  await rename(join(folder, newest), join(folder, newest + WITHDRAWN));
  await sync(folder);
  return newest.slice(0, -5);
}

/** Has the newest be this one, which another process has taken; null: there is to be none. */
export async function adoptUpdate(dataDir: string, update: ModelsUpdate | null): Promise<void> {
  const stamp = update === null ? "" : stampOf(update);
  for (const kept of await keptStamps(dataDir)) {
    if (kept <= stamp) break;
    await withdrawUpdate(dataDir);
  }
  if (update === null) return;
  const kept = await keptUpdate(dataDir).catch(() => null);
  if (JSON.stringify(kept) !== JSON.stringify(update)) await keepUpdate(dataDir, update);
}
