// Run by the kill tests as a process of its own: launches jobs as fast as it can, runs them, and says each launch that was acknowledged.
import { readConfig } from "../../src/config.ts";
import { openStores } from "../../src/stores.ts";
import { newAccount } from "../ledger/requests.ts";
import { ACCOUNT, openJobs, stepping } from "./stage.ts";

const LANES = 4;
const STEPS = 3;
const STEP_MS_MAX = 10;
const [folder = "", run = "", mode = "", redisUrl = ""] = process.argv.slice(2);

const environment = {
  DATA_DIR: folder,
  ...(redisUrl === "" ? {} : { REDIS_URL: redisUrl, REDIS_COMMAND_MS: "10000" }),
};
const stores = await openStores(readConfig(environment), {
  onFatal(error) {
    throw error;
  },
});
await stores.ledger.openAccount(newAccount(ACCOUNT, 10_000_000));
const pause = () => new Promise<void>((resolve) => setTimeout(resolve, Math.random() * STEP_MS_MAX));
const { jobs, launch } = openJobs(stores, `process-${run}`, [stepping(STEPS, pause)], { runnerLeaseMs: 1_000 });
await jobs.start();
await jobs.adopt();

async function lane(number: number): Promise<void> {
  for (let at = 0; ; at++) {
    const id = await launch(`${run}x${number}x${at}`);
    process.stdout.write(`${id}\n`);
    while (jobs.running() > 50) await pause();
  }
}

if (mode === "launch") await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)));
else {
  // Nobody else lives any more; over Redis it takes a lease to be sure of that.
  const untilMs = Date.now() + 2_500;
  while (Date.now() < untilMs || jobs.running() > 0) {
    await jobs.adopt();
    await pause();
  }
  await jobs.stop();
  await stores.close();
}
