// Temporary folders of recordings. Creating one also deletes what dead processes have left behind.
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PREFIX = "tollgate-recording-";
/** Far longer than any recording takes. */
const LEFT_MS = 3_600_000;

async function takeAwayLeft(beside: string): Promise<void> {
  const nowMs = (await stat(beside)).mtimeMs;
  const folders = (await readdir(tmpdir()))
    .filter((name) => name.startsWith(PREFIX))
    .map((name) => join(tmpdir(), name));
  for (const folder of folders) {
    const takeAway = async () => {
      const { mtimeMs } = await stat(folder);
      if (nowMs - mtimeMs > LEFT_MS) await rm(folder, { recursive: true, force: true });
    };
    // Its owner may be deleting it, or it is not ours to delete; go on with the others.
    await takeAway().catch(() => {});
  }
}

/** A new empty folder, which the caller deletes. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), PREFIX));
  await takeAwayLeft(folder).catch(() => {});
  return folder;
}
