// Keeps the suite fast: a file that takes more processor time than its lane allows fails. The runner reads this before every file.
// Processor time, not wall time: load from elsewhere fails no file.
import { appendFileSync, readFileSync } from "node:fs";
import { cpuUsage } from "node:process";
import { afterAll, inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    fileCpuSecondsMax: number;
  }
  interface TaskMeta {
    /** Of a file: the processor time of its own process and of the children that have ended, in seconds. */
    cpuSeconds?: number;
  }
}

/** Linux counts in hundredths of a second here, whatever its clock. */
const TICKS_PER_SECOND = 100;

/** What children that have ended took, with their own children. Zero where there is no /proc. */
function childrenSeconds(): number {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    // The program's name comes before, in parentheses; of the fields after it these are the fourteenth and fifteenth.
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
  if (process.env.COSTS_TO) appendFileSync(process.env.COSTS_TO, `${seconds.toFixed(2)} ${file.name}\n`);
  const most = inject("fileCpuSecondsMax");
  if (seconds > most) {
    throw new Error(`${file.name} took ${seconds.toFixed(1)} s of the processor; its lane allows a file ${most}`);
  }
});
