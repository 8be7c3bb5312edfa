// The gateway as a process: reads the environment and serves, alone, as the parent of several, or as one of them.
import "./node-version.cjs";
import { prepareEnvironment, readConfig } from "./config.ts";
import { serve, stop } from "./processes/serve.ts";
import { runWorker, WORKER_ARGUMENT } from "./processes/worker.ts";

try {
  prepareEnvironment();
  if (process.argv[2] === WORKER_ARGUMENT) runWorker(stop);
  else await serve(readConfig());
} catch (error) {
  stop(error);
}
