// Loaded into a gateway that is measured: between two SIGUSR2 it samples where the main thread's objects are made, those that are cleared up too.
import { renameSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector";
import { join } from "node:path";
import { isMainThread } from "node:worker_threads";

const { HEAP_FOLDER = "." } = process.env;
const file = join(HEAP_FOLDER, String(process.pid));
/** Mean bytes between two samples. */
const samplingInterval = 2_048;

if (isMainThread) {
  const session = new Session();
  session.connect();
  let sampling = false;
  process.on("SIGUSR2", () => {
    if (!sampling) {
      sampling = true;
      const all = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true };
      session.post("HeapProfiler.startSampling", { samplingInterval, ...all });
      return;
    }
    sampling = false;
    session.post("HeapProfiler.stopSampling", (_error, { profile }) => {
      writeFileSync(`${file}.part`, JSON.stringify(profile));
      renameSync(`${file}.part`, file);
    });
  });
}
