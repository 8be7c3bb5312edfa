// Preloaded into a measured gateway: at SIGUSR2 it reports the main thread's heap and collects garbage.
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
