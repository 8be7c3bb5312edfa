// The gateway as several processes whose parent has the patience that a test gives it; else as `main.ts` starts them.
import { prepareEnvironment, readConfig } from "../../src/platform/config.ts";
import { serve, stop } from "../../src/processes/serve.ts";
import { PATIENCE } from "../../src/processes/supervisor.ts";

prepareEnvironment();
serve(readConfig(), { ...PATIENCE, ...JSON.parse(process.argv[2] ?? "{}") }).catch(stop);
