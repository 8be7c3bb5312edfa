// Stores files on the gateway's own disk: written to a temporary name, synced, then renamed.
import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { GatewayError } from "../../core/errors.ts";
import type { ByteRange, FileStore } from "./file-store.ts";

const ID = /^file_[0-9a-f]{32}$/;
const READ_BYTES = 64 * 1024;
/** Space that is left for the ledger on the same disk. */
const FREE_BYTES_MIN = 768 * 1024 * 1024;
const FULL = ["ENOSPC", "EDQUOT"];

function hasCode(error: unknown, codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}

function noRoom(cause?: unknown): GatewayError {
  const detail = "There is no room for more at the moment.";
  return new GatewayError("storage_unavailable", { detail, retryAfterSeconds: 60, cause, nothingDone: true });
}

/** Writes all of `bytes` to a new file and syncs it; removes the file on any failure. */
export async function writeWhole(path: string, bytes: AsyncIterable<Uint8Array>): Promise<number> {
  const file = await open(path, "wx", 0o600);
  let size = 0;
  try {
    for await (const part of bytes) {
      await writeAll(file, part);
      size += part.length;
    }
    await file.sync();
    await file.close();
    return size;
  } catch (error) {
    await file.close();
    await rm(path, { force: true });
    throw hasCode(error, FULL) ? noRoom(error) : error;
  }
}

async function writeAll(file: FileHandle, part: Uint8Array): Promise<void> {
  let at = 0;
  while (at < part.length) at += (await file.write(part, at)).bytesWritten;
}

/** A new name is durable only once its folder is synced. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  await folder.sync();
  await folder.close();
}

/** Opens the folder for incomplete uploads, and deletes those untouched since `leftBeforeMs` (other processes may write); null: all. */
export async function openIncoming(folder: string, leftBeforeMs: number | null): Promise<string> {
  const incoming = join(folder, "incoming");
  await mkdir(incoming, { recursive: true, mode: 0o700 });
  for (const name of await readdir(incoming)) {
    const path = join(incoming, name);
    // Another process may have removed it meanwhile.
    const touchedMs = (await stat(path).catch(() => null))?.mtimeMs ?? 0;
    if (leftBeforeMs === null || touchedMs < leftBeforeMs) await rm(path, { force: true });
  }
  return incoming;
}

export async function openDiskStore(
  folder: string,
  freeBytesMin = FREE_BYTES_MIN,
  leftBeforeMs: number | null = null,
): Promise<FileStore> {
  const incoming = await openIncoming(folder, leftBeforeMs);

  /** Spreads files over 256 folders by the first digits of their ids, which are random. */
  function pathOf(id: string): string {
    if (!ID.test(id)) throw new Error(`not the id of a file: ${id}`);
    return join(folder, id.slice(5, 7), id);
  }

  /** Resolves to null if the file does not exist. */
  function ifThere<Found>(found: Promise<Found>): Promise<Found | null> {
    return found.catch((error: unknown) => {
      if (hasCode(error, ["ENOENT"])) return null;
      throw error;
    });
  }

  return {
    links: null,
    sizeOf: async (id) => (await ifThere(stat(pathOf(id))))?.size ?? null,

    async write(id, bytes, sizeBytes) {
      const path = pathOf(id);
      const disk = await statfs(folder);
      if (disk.bavail * disk.bsize < freeBytesMin + (sizeBytes ?? 0)) throw noRoom();
      const fresh = join(incoming, `${id}.${randomUUID()}`);
      const size = await writeWhole(fresh, bytes);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await rename(fresh, path);
      await syncFolder(dirname(path));
      return size;
    },

    async read(id, range: ByteRange | null) {
      const file = await ifThere(open(pathOf(id), "r"));
      if (file === null) return null;
      const part = range === null ? {} : { start: range.from, end: range.to };
      return createReadStream("", { fd: file, highWaterMark: READ_BYTES, ...part });
    },

    async delete(id) {
      await rm(pathOf(id), { force: true });
    },
  };
}
