// Bounds the memory and disk of a browser with all its processes, so that one page cannot exhaust the machine.
import { opendir, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { RecordingFault } from "./browser-page.ts";

const LOOK_MS = 250;
/** The field of /proc/<pid>/stat, counted from the end of the name, which may contain spaces and brackets. */
const GROUP_AT = 2;

export interface Bounds {
  /** Private and shared memory of all processes. */
  readonly memoryMib: number;
  /** The size of the folder that they write to. */
  readonly diskMib: number;
}

/** A process's memory that is not backed by files, in KiB. */
async function memoryKib(pid: string): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "latin1");
  const lines = status.split("\n");
  const of = (name: string) => {
    const line = lines.find((one) => one.startsWith(`${name}:`)) ?? "";
    return Number.parseInt(line.slice(name.length + 1), 10) || 0;
  };
  return of("RssAnon") + of("RssShmem");
}

async function isOf(pid: string, group: number): Promise<boolean> {
  const line = await readFile(`/proc/${pid}/stat`, "latin1");
  return Number(line.slice(line.lastIndexOf(")") + 2).split(" ")[GROUP_AT]) === group;
}

/** The memory of a process group; 0 where there is no /proc. */
export async function groupMib(group: number): Promise<number> {
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  const each = pids.map(async (pid) => ((await isOf(pid, group)) ? memoryKib(pid) : 0));
  const kib = await Promise.all(each.map((one) => one.catch(() => 0)));
  return kib.reduce((sum, one) => sum + one, 0) / 1_024;
}

/** More files and folders than any browser needs. Bounds our work of walking them. */
const ENTRIES_MAX = 20_000;

/** The size of a folder with its subfolders; null where it has too many entries. */
async function folderMib(root: string): Promise<number | null> {
  const folders = [root];
  let [blocks, entries] = [0, 0];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const opened = await opendir(folder).catch(() => null);
    if (opened === null) continue;
    for await (const entry of opened) {
      if (++entries > ENTRIES_MAX) return null;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(path);
      else blocks += (await stat(path).catch(() => null))?.blocks ?? 0;
    }
  }
  return (blocks * 512) / 1_048_576;
}

async function overBy(group: number, folder: string, { memoryMib, diskMib }: Bounds): Promise<RecordingFault | null> {
  if ((await groupMib(group)) > memoryMib)
    return new RecordingFault(`the browser took more than ${memoryMib} MB of memory`);
  const keptMib = await folderMib(folder);
  if (keptMib === null) return new RecordingFault(`the browser kept more than ${ENTRIES_MAX} files`);
  if (keptMib > diskMib) return new RecordingFault(`the browser kept more than ${diskMib} MB`);
  return null;
}

export function endGroup(group: number): void {
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // All have ended already.
  }
}

/** Polls a group and reports once that it exceeds its bounds. Returns a function that stops the polling. */
export function watchGroup(
  { group, folder }: { readonly group: number; readonly folder: string },
  bounds: Bounds,
  onOver: (why: RecordingFault) => void,
): () => void {
  let timer: NodeJS.Timeout | null = null;
  let isOver = false;
  const look = async () => {
    const why = await overBy(group, folder, bounds);
    if (isOver) return;
    if (why === null) timer = setTimeout(look, LOOK_MS);
    else onOver(why);
  };
  timer = setTimeout(look, LOOK_MS);
  return () => {
    isOver = true;
    if (timer !== null) clearTimeout(timer);
  };
}
