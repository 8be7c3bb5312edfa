// Loaded into a gateway that is measured: at SIGUSR2 it says how much is on its main thread's heap, and clears it up.
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isMainThread } from "node:worker_threads";

const { HEAP_FOLDER = "." } = process.env;
const file = join(HEAP_FOLDER, String(process.pid));

if (isMainThread) {
  process.on("SIGUSR2", () => {
    const before = process.memoryUsage().heapUsed;
    globalThis.gc?.();
    writeFileSync(`${file}.part`, `${before} ${process.memoryUsage().heapUsed}`);
    renameSync(`${file}.part`, file);
  });
}
