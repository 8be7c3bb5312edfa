// The gateway as several processes, with a test's timeouts for the parent, or else as `main.ts` starts them.
import { prepareEnvironment, readConfig } from "../../src/platform/config.ts";
import { serve, stop } from "../../src/processes/serve.ts";
import { PATIENCE } from "../../src/processes/supervisor.ts";

prepareEnvironment();
serve(readConfig(), { ...PATIENCE, ...JSON.parse(process.argv[2] ?? "{}") }).catch(stop);
