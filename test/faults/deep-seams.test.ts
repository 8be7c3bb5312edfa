// Deep jobs whose process dies at every single store operation of launch, steps and end, and of the adopters: over both stores.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { findJob } from "../../src/actions/jobs/job-record.ts";
import { openStores, type Stores } from "../../src/gateway/stores.ts";
import { readConfig } from "../../src/platform/config.ts";
import { DEEP_WORK, deepKinds, knowsAll, vendorCalls } from "../actions/composites/deep-stage.ts";
import { launchThroughKernel } from "../actions/jobs/kernel-launch.ts";
import { ACCOUNT, type JobsStage, moneyOf, openJobs } from "../actions/jobs/stage.ts";
import { CENT, newAccount } from "../money/ledger/requests.ts";
import { eventually } from "../support/gateway.ts";
import { type MortalStores, mortalStores } from "../support/mortal-stores.ts";
import { anyRedis, REDIS_MS_MAX } from "../support/redis.ts";
import { removeFolder } from "../support/remove-folder.ts";

/** The operations after which each adopter dies in turn; the last adopter lives. */
const ADOPTERS_DIE_AT = [1, 2, 3, 5, 9, 20, 60, 150, 400, 900];

interface Process extends JobsStage {
  readonly stores: MortalStores;
}

async function everySeam(stores: Stores): Promise<number> {
  await stores.ledger.openAccount(newAccount(ACCOUNT, 1_000_000));
  const all: Process[] = [];
  onTestFinished(() => void Promise.all(all.map(({ jobs }) => jobs.stop())));
  const process_ = (self: string, mortal: MortalStores): Process => {
    const innerCalls = (outer: Parameters<typeof vendorCalls>[0]) => vendorCalls(outer, self, knowsAll);
    // An adopter here knows that all others are dead.
    const seen = { ...mortal, shared: false };
    const made = { ...openJobs(seen, self, deepKinds(mortal.records).kinds, { innerCalls }), stores: mortal };
    all.push(made);
    return made;
  };
  const told = new Set<string>();
  const work = new Map<string, ReturnType<(typeof DEEP_WORK)[number]>>();
  /** Launches one job and runs it until it is over or its process is dead. */
  const live = async (name: string, kind: number, mortal: MortalStores) => {
    const wanted = DEEP_WORK[kind]?.(name);
    if (wanted === undefined) throw new Error("no such work");
    const { jobs } = process_(name, mortal);
    const over = async () => {
      const launch = await launchThroughKernel(mortal, jobs, name, { work: wanted });
      if (launch.told) told.add(launch.jobId);
      await eventually(() => (jobs.running() === 0 ? true : undefined), "the job's end");
    };
    work.set(`job_${name}`, wanted);
    await Promise.race([mortal.died, over()]);
  };

  // As many operations as an undisturbed job takes.
  const deaths: Promise<void>[] = [];
  for (const kind of DEEP_WORK.keys()) {
    const whole = mortalStores(stores);
    await live(`w${kind}`, kind, whole);
    for (let at = 1; at <= whole.operations(); at++) {
      for (const when of ["before", "after"] as const) {
        deaths.push(live(`k${kind}x${at}${when}`, kind, mortalStores(stores, at, when)));
      }
    }
  }
  await Promise.all(deaths);
  for (const [at, dieAt] of ADOPTERS_DIE_AT.entries()) {
    const adopter = process_(`adopter${at}`, mortalStores(stores, dieAt, at % 2 === 0 ? "before" : "after"));
    void adopter.jobs.start();
    await adopter.stores.died;
  }
  const last = process_("last", mortalStores(stores));
  await last.jobs.start();
  await last.jobs.adopt();
  await eventually(async () => ((await last.jobs.open(1_000)).length === 0 ? true : undefined), "all jobs to end");

  let charged = 0;
  for (const [id, { amountNano, rows }] of work) {
    const job = (await findJob(stores.records, id))?.job;
    // The launch was never acknowledged, so it may not have happened.
    if (job === undefined && !told.has(id)) continue;
    const cents = amountNano / CENT;
    expect([id, job?.state, job?.chargedCents, job?.end?.rows?.length]).toEqual([id, "succeeded", cents, rows]);
    const posting = await stores.ledger.transaction(ACCOUNT, id.replace(/^job_/, "tx_"));
    expect(posting?.chargedCents).toBe(cents);
    charged += cents;
    // The results are complete: no row gave up for lack of money that a dead process had spent.
    const found = job?.end?.result as Record<string, unknown>;
    expect([id, found.skipped_count, found.spent_cents]).toEqual([id, 0, cents]);
  }
  expect(told.size).toBeGreaterThan(100);
  expect(await moneyOf(stores)).toEqual({ spent: charged, held: 0 });
  expect((await stores.ledger.doctor()).findings).toEqual([]);
  await last.jobs.stop();
  return deaths.length;
}

async function opened(redisUrl: string | null): Promise<Stores> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-deep-seams-"));
  const environment = { DATA_DIR: folder, ...(redisUrl === null ? {} : { REDIS_URL: redisUrl }) };
  const stores = await openStores(readConfig(environment), {
    onFatal(error) {
      throw error;
    },
  });
  onTestFinished(async () => {
    await stores.close();
    removeFolder(folder);
  });
  return stores;
}

it("over the embedded store", async () => {
  console.log(`${await everySeam(await opened(null))} deaths`);
});

it("over Redis", { timeout: 600_000 + REDIS_MS_MAX }, async () => {
  const redis = await anyRedis();
  onTestFinished(() => redis.dispose());
  console.log(`${await everySeam(await opened(redis.url))} deaths`);
});
