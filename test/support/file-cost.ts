// Keeps the suite fast: a file that takes more CPU time than its lane allows fails. The runner loads this before every file. CPU time, not
// wall time, so that load from elsewhere fails no file.
import { readFileSync } from "node:fs";
import { cpuUsage } from "node:process";
import { afterAll, inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    fileCpuSecondsMax: number;
  }
  interface TaskMeta {
    /** The CPU time of a file's own process and of its ended children, in seconds. */
    cpuSeconds?: number;
  }
}

/** Linux reports hundredths of a second here, whatever its clock. */
const TICKS_PER_SECOND = 100;

/** The CPU time of ended children and of their children. Zero without /proc. */
function childrenSeconds(): number {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    // The program's name precedes these in parentheses; they are the fourteenth and fifteenth of the fields after it.
    const [user, system] = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .slice(13, 15);
    return (Number(user) + Number(system)) / TICKS_PER_SECOND;
  } catch {
    return 0;
  }
}

function secondsSoFar(): number {
  const { user, system } = cpuUsage();
  return (user + system) / 1e6 + childrenSeconds();
}

const before = secondsSoFar();

// biome-ignore lint/correctness/noEmptyPattern: the runner reads off the pattern which of its fixtures are wanted
afterAll(({}, { file }) => {
  const seconds = secondsSoFar() - before;
  file.meta.cpuSeconds = seconds;
  const most = inject("fileCpuSecondsMax");
  if (seconds > most) {
    throw new Error(`${file.name} took ${seconds.toFixed(1)} s of the processor; its lane allows a file ${most}`);
  }
});
