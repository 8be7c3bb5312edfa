// The child process of the kill tests: launches jobs, including deep ones, as fast as it can, runs them, and reports each acknowledged
// launch with its expected charge. As `serve` it only launches, as `work` it only runs.
import { join } from "node:path";
import { jobNews } from "../../../src/actions/jobs/job-news.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { openStores } from "../../../src/gateway/stores.ts";
import { readConfig } from "../../../src/platform/config.ts";
import { CENT, newAccount } from "../../money/ledger/requests.ts";
import { DEEP_WORK, deepKinds, knowsAll, vendorCalls } from "../composites/deep-stage.ts";
import { ACCOUNT, openJobs, PAYER, stepping } from "./stage.ts";

const LANES = 4;
const STEPS = 3;
const STEP_MS_MAX = 10;
const [folder = "", run = "", mode = "", redisUrl = ""] = process.argv.slice(2);

const archive = { ARCHIVE_URL: `file://${folder}/archive.db` };
const environment = {
  // If two processes run at once, each has its own spool.
  DATA_DIR: mode === "work" ? join(folder, "work") : folder,
  ...(redisUrl === "" ? {} : { REDIS_URL: redisUrl, REDIS_COMMAND_MS: "10000", ...archive }),
};
const stores = await openStores(readConfig(environment), {
  onFatal(error) {
    throw error;
  },
});
await stores.ledger.openAccount(newAccount(ACCOUNT, 10_000_000));
const pause = () => new Promise<void>((resolve) => setTimeout(resolve, Math.random() * STEP_MS_MAX));
const self = `process-${run}`;
const { jobs, launch } = openJobs(stores, self, [stepping(STEPS, pause), ...deepKinds(stores.records).kinds], {
  runnerLeaseMs: 1_000,
  works: mode !== "serve",
  news: jobNews(stores.others),
  innerCalls: (outer) =>
    vendorCalls(outer, self, async (wanted) => {
      await pause();
      return knowsAll(wanted);
    }),
});
await jobs.start();
await jobs.adopt();

/** Retries if no job-running process has sent a heartbeat yet. */
async function launched(...asked: Parameters<typeof launch>): Promise<string> {
  for (;;) {
    const id = await launch(...asked).catch((error: unknown) => {
      if (error instanceof GatewayError && error.code === "jobs_unavailable") return null;
      throw error;
    });
    if (id !== null) return id;
    await pause();
  }
}

async function lane(number: number): Promise<void> {
  for (let at = 0; ; at++) {
    const name = `${run}x${number}x${at}`;
    // Every other job is deep.
    const work = at % 2 === 0 ? undefined : DEEP_WORK[((at - 1) / 2) % DEEP_WORK.length]?.(name);
    const id = await launched(name, PAYER.keyId, work);
    process.stdout.write(`${id} ${work === undefined ? STEPS : work.amountNano / CENT}\n`);
    while (jobs.running() > 50) await pause();
  }
}

if (mode === "launch" || mode === "serve")
  await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)));
else if (mode === "work") await new Promise(() => {});
else {
  // No other process is alive; over Redis, a lease must expire to prove it.
  const untilMs = Date.now() + 2_500;
  while (Date.now() < untilMs || jobs.running() > 0) {
    await jobs.adopt();
    await pause();
  }
  await jobs.stop();
  await stores.close();
}
