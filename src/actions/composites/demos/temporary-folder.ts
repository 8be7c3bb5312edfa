// Folders that a recording works in; what a process left there that died is taken away by the next one that makes a folder.
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PREFIX = "tollgate-recording-";
/** Far longer than any recording, or what is done with it, takes. */
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
    // Its maker may take it away just now, or it is not ours to take: the others go all the same.
    await takeAway().catch(() => {});
  }
}

/** A new empty folder, which its maker takes away. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), PREFIX));
  // No recording fails of what others have left.
  await takeAwayLeft(folder).catch(() => {});
  return folder;
}
