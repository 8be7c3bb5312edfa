// The gateway as several processes, each on books of its own: what `main.ts` does with WORKERS, for tests that start it.
import { prepareEnvironment, readConfig } from "../../src/config.ts";
import { serve, stop } from "../../src/processes/serve.ts";
import { PATIENCE } from "../../src/processes/supervisor.ts";

const [, , workers = "2", patience = "{}"] = process.argv;
prepareEnvironment();
serve({ ...readConfig(), workers: Number(workers) }, { ...PATIENCE, ...JSON.parse(patience) }).catch(stop);
