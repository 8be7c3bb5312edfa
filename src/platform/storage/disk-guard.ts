// Guards disk space: tells when to refuse new work, and deletes a ballast file on a full disk so that running work can finish.
import { closeSync, existsSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname, join } from "node:path";

const MIB = 1024 * 1024;
const CHECK_MS = 1_000;

export interface DiskBounds {
  /** Below this many free bytes, new work is refused. */
  readonly freeBytesMin: number;
  /** The size of the file to delete when the disk is full. */
  readonly ballastBytes: number;
}

export const DISK_BOUNDS: DiskBounds = { freeBytesMin: 512 * MIB, ballastBytes: 64 * MIB };

/** The free space of a disk, for monitoring. */
export interface DiskRoom {
  readonly freeBytes: number;
  /** Below this, new work is refused. */
  readonly freeBytesMin: number;
}

/** Measures the disk of `folder`, off the event loop. */
export async function diskRoom(folder: string, { freeBytesMin }: DiskBounds): Promise<DiskRoom> {
  const disk = await statfs(folder);
  return { freeBytes: disk.bavail * disk.bsize, freeBytesMin };
}

/** A sentence about too little space; null: there is enough. */
export function lowDiskText({ freeBytes, freeBytesMin }: DiskRoom): string | null {
  if (freeBytes >= freeBytesMin) return null;
  const mib = (bytes: number) => Math.floor(bytes / MIB);
  return `the disk of DATA_DIR is nearly full: ${mib(freeBytes)} MiB are free, and below ${mib(freeBytesMin)} MiB no paid call is taken on`;
}

/** The default bounds with another minimum. */
export function diskBounds(freeMibMin: number): DiskBounds {
  return { ...DISK_BOUNDS, freeBytesMin: freeMibMin * MIB };
}

/** Watches the disk of `file`, and creates the ballast next to it if there is room. */
export function guardDisk(file: string, bounds: DiskBounds) {
  const folder = dirname(file);
  const ballast = join(folder, "ballast");
  const freeBytes = () => {
    const disk = statfsSync(folder);
    return disk.bavail * disk.bsize;
  };
  if (!existsSync(ballast) && bounds.ballastBytes > 0 && freeBytes() >= bounds.freeBytesMin + bounds.ballastBytes) {
    writeBallast(ballast, bounds.ballastBytes);
  }
  let low = freeBytes() < bounds.freeBytesMin;
  let checkedMs = Number.NEGATIVE_INFINITY;
  return {
    /** True if new work must be refused; checks the disk at most once a second. */
    isLow(elapsedMs: number): boolean {
      if (elapsedMs - checkedMs >= CHECK_MS) {
        checkedMs = elapsedMs;
        low = freeBytes() < bounds.freeBytesMin;
      }
      return low;
    },
    /** Deletes the ballast; false if there is none left. */
    dropBallast(): boolean {
      // An existing file without ballast configured belongs to another database.
      if (bounds.ballastBytes === 0 || !existsSync(ballast)) return false;
      rmSync(ballast);
      low = true;
      return true;
    },
  };
}

/** Writes real bytes: deleting a sparse file would free nothing. */
function writeBallast(path: string, bytes: number): void {
  const block = Buffer.alloc(MIB, 1);
  const handle = openSync(path, "wx", 0o600);
  try {
    for (let left = bytes; left > 0; left -= MIB) writeSync(handle, block, 0, Math.min(left, MIB));
  } finally {
    closeSync(handle);
  }
}
