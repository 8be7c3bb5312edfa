// Keeps the suite fast: a file that takes more processor time than its lane allows fails. Read by the runner before every file.
// Processor time, not the clock's: a machine that others load as well makes no file fail.
import { cpuUsage } from "node:process";
import { afterAll, inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    fileCpuSecondsMax: number;
  }
  interface TaskMeta {
    /** Of a file: what it took of the processor, in seconds. */
    cpuSeconds?: number;
  }
}

const before = cpuUsage();

// biome-ignore lint/correctness/noEmptyPattern: the runner reads off the pattern which of its fixtures are wanted
afterAll(({}, { file }) => {
  const { user, system } = cpuUsage(before);
  const seconds = (user + system) / 1e6;
  file.meta.cpuSeconds = seconds;
  const most = inject("fileCpuSecondsMax");
  if (seconds > most) {
    throw new Error(`${file.name} took ${seconds.toFixed(1)} s of the processor; its lane allows a file ${most}`);
  }
});
