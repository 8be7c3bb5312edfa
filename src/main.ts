// The gateway as a process: reads the environment and serves, alone, as the parent of several, or as one of them.
import "./processes/node-version.cjs";
import "./core/kept-sources.mjs";
import { setFlagsFromString } from "node:v8";

// V8 watches which places make objects that live long, and lets them make old ones from the start. Here all of them live as long as a call,
// and once calls have been slow for a moment it takes that for long: from then on each call leaves 10 KB among the old objects, and costs a
// quarter more CPU (bench/README.md).
setFlagsFromString("--no-allocation-site-pretenuring");

// What is imported from here on, and not before, is taken from what an earlier start has kept.
const { prepareEnvironment, readConfig } = await import("./platform/config.ts");
const { serve, stop } = await import("./processes/serve.ts");
const { runWorker, WORKER_ARGUMENT } = await import("./processes/worker.ts");

try {
  prepareEnvironment();
  if (process.argv[2] === WORKER_ARGUMENT) runWorker(stop);
  else await serve(readConfig());
} catch (error) {
  stop(error);
}
