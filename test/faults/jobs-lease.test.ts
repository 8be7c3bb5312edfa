// The sweep ends holds at any moment: between their placing and the job runner's first renewal, and while the job runs.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { findJob } from "../../src/actions/jobs/job-record.ts";
import { openStores } from "../../src/gateway/stores.ts";
import { readConfig } from "../../src/platform/config.ts";
import { randomFrom } from "../../src/sandbox/vocabulary.ts";
import { launchThroughKernel } from "../actions/jobs/kernel-launch.ts";
import { ACCOUNT, moneyOf, openJobs, stepping } from "../actions/jobs/stage.ts";
import { CENT, newAccount } from "../money/ledger/requests.ts";
import { folderForTest } from "../support/for-file.ts";
import { eventually } from "../support/gateway.ts";

const JOBS = 600;
const LANES = 12;
const STEPS = 3;
const LEASE_MS_MAX = 2_000;
const SEED = Number(process.env.KILL_SEED ?? Date.now() % 1_000_000);

/**
 * `renewedMs`: a renewed hold's lifetime; long, or so short that the hold also ends while its job runs. `fewest`: how many jobs must be
 * charged for the case to prove anything; on a busy machine every short lease may end.
 */
it.each([
  ["before its first renewal", 60_000, 1],
  ["at any time", 60, 0],
])("a hold whose lease ends %s: its job ends, and is never charged after that", async (_, renewedMs, fewest) => {
  const folder = folderForTest("tollgate-jobs-lease-");
  const stores = await openStores(readConfig({ DATA_DIR: folder }), {
    onFatal(error) {
      throw error;
    },
  });
  await stores.ledger.openAccount(newAccount(ACCOUNT, 1_000_000));
  const random = randomFrom(SEED);
  const broken: unknown[] = [];
  const pause = () => sleep(random() * 20);
  const { jobs } = openJobs(stores, "one", [stepping(STEPS, pause)], { holdLeaseMs: renewedMs, broken });
  await jobs.start();

  const expired = new Set<string>();
  let over = false;
  const sweeping = (async () => {
    while (!over) {
      for (const holdId of await stores.ledger.sweep(500)) expired.add(holdId);
      await sleep(1);
    }
  })();
  const told: string[] = [];
  const lane = async (number: number) => {
    for (let at = number; at < JOBS; at += LANES) {
      // Log-uniform, as many between 1 and 2 ms as between 1 and 2 seconds: whatever the pace here, some end before a step and some after
      // it.
      const leaseMs = Math.ceil(LEASE_MS_MAX ** random());
      const launch = await launchThroughKernel(stores, jobs, `n${at}`, { leaseMs, broken });
      if (launch.told) told.push(launch.jobId);
    }
  };
  await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)));
  await eventually(() => (jobs.running() === 0 ? true : undefined), "all jobs to end");
  over = true;
  await sweeping;

  expect(told).toHaveLength(JOBS);
  let charged = 0;
  for (const id of told) {
    const job = (await findJob(stores.records, id))?.job;
    const holdId = job?.hold.holdId ?? "";
    const posting = await stores.ledger.transaction(ACCOUNT, holdId);
    expect([id, ["succeeded", "failed"].includes(job?.state ?? "gone")]).toEqual([id, true]);
    if (posting !== null) charged += 1;
    const cents = posting === null ? 0 : posting.amountNano / CENT;
    expect([id, cents, job?.chargedCents]).toEqual([id, expired.has(holdId) ? 0 : STEPS, cents]);
  }
  console.log(`seed ${SEED}: of ${JOBS} holds the sweep ended ${expired.size}, and ${charged} jobs were charged`);
  expect(expired.size).toBeGreaterThan(0);
  expect(charged).toBeGreaterThanOrEqual(fewest);
  expect(await moneyOf(stores)).toEqual({ spent: charged * STEPS, held: 0 });
  expect((await stores.ledger.doctor()).findings).toEqual([]);
  expect(broken).toEqual([]);
  await jobs.stop();
  await stores.close();
});
