// A bad disk for test processes: a test sets how long its syncs take, and a power loss drops what was not synced.
import {
  closeSync,
  existsSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compilePreloaded } from "./preloaded.ts";
import { removeFolder } from "./remove-folder.ts";

const SOURCE = join(import.meta.dirname, "frail-disk.c");

export interface FrailDisk {
  /** Environment variables for the process with this disk. */
  readonly environment: Readonly<Record<string, string>>;
  /** From now on each sync takes this much longer. */
  slow(syncMs: number): void;
  /** From now on each sync fails; `false`: syncs work again. */
  fail(fails?: boolean): void;
  /**
   * Simulates a power loss after the process was killed: drops what was written to the files below the folder since their last sync, from
   * a point on that `share` decides: 1 drops all of it, 0 nothing. Returns how many writes were lost.
   */
  losePower(folder: string, share?: number): number;
  dispose(): void;
}

/** A disk that is slow by `syncMs`; where it `loses`, power can be lost. */
export async function frailDisk(syncMs: number, loses = false): Promise<FrailDisk> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-disk-"));
  const library = join(folder, "frail-disk.so");
  await compilePreloaded(SOURCE, library);
  const slow = (ms: number) => writeFileSync(join(folder, "sync-ms"), String(ms));
  slow(syncMs);
  const fails = join(folder, "fails");
  if (loses) writeFileSync(join(folder, "loses"), "");
  return {
    environment: { LD_PRELOAD: library, FRAIL_DISK: folder },
    slow,
    fail: (broken = true) => (broken ? writeFileSync(fails, "") : rmSync(fails, { force: true })),
    losePower: (below, share = 1) =>
      readdirSync(below, { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".undo"))
        .reduce((lost, name) => lost + takeBack(join(below, name), share), 0),
    dispose: () => removeFolder(folder),
  };
}

const HEAD_BYTES = 24;

interface Note {
  readonly size: number;
  readonly offset: number;
  readonly bytes: Buffer;
}

/** A file's records, in order. The kill may have cut off the last: then its write did not happen either. */
function notesOf(text: Buffer): Note[] {
  const notes: Note[] = [];
  for (let at = 0; at + HEAD_BYTES <= text.length; ) {
    const [size, offset, kept] = [0, 8, 16].map((field) => Number(text.readBigInt64LE(at + field))) as [
      number,
      number,
      number,
    ];
    const end = at + HEAD_BYTES + kept;
    if (end > text.length) break;
    notes.push({ size, offset, bytes: text.subarray(at + HEAD_BYTES, end) });
    at = end;
  }
  return notes;
}

function takeBack(undo: string, share: number): number {
  const file = undo.slice(0, -".undo".length);
  const notes = notesOf(readFileSync(undo));
  rmSync(undo);
  if (!existsSync(file)) return 0;
  const lost = notes.slice(Math.floor(notes.length * (1 - share))).reverse();
  const handle = openSync(file, "r+");
  for (const { size, offset, bytes } of lost) {
    ftruncateSync(handle, size);
    writeSync(handle, bytes, 0, bytes.length, offset);
  }
  closeSync(handle);
  // The index of a write-ahead log is shared memory: it does not survive the machine.
  if (file.endsWith("-wal")) rmSync(`${file.slice(0, -"-wal".length)}-shm`, { force: true });
  return lost.length;
}
