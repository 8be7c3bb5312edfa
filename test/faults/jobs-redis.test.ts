// Jobs of three processes over a Redis that is killed and comes back, or whose replica takes over, while they launch and run.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { findJob } from "../../src/actions/jobs/job-record.ts";
import { openStores, type Stores } from "../../src/gateway/stores.ts";
import type { OuterCall } from "../../src/kernel/inner-call.ts";
import { readConfig } from "../../src/platform/config.ts";
import { randomFrom } from "../../src/sandbox/vocabulary.ts";
import { DEEP_WORK, deepKinds, knowsAll, type Vendor, vendorCalls } from "../actions/composites/deep-stage.ts";
import { launchThroughKernel } from "../actions/jobs/kernel-launch.ts";
import { ACCOUNT, type Asked, BUDGET, type JobsStage, moneyOf, openJobs, stepping } from "../actions/jobs/stage.ts";
import { CENT, newAccount } from "../money/ledger/requests.ts";
import { eventually } from "../support/gateway.ts";
import { HASTY_MS } from "../support/patience.ts";
import { REDIS_MS_MAX, startRedis, startSentinel } from "../support/redis.ts";
import { removeFolder } from "../support/remove-folder.ts";

const STEPS = 3;
const LANES = 4;
const STEP_MS_MAX = 60;
const LAUNCHES_BETWEEN = 25;
/** Longer than any outage here, so that no live process is taken for dead. */
const RUNNER_LEASE_MS = 10_000;
/** A hold whose record is lost ends with its lease, and a server that just started ends none for a minute. */
const HOLD_LEASE_MS = 30_000;
const HELD_MS_MAX = 240_000;
const SEED = Number(process.env.KILL_SEED ?? Date.now() % 1_000_000);

/** The stores of `count` processes over this Redis, on one machine, so that they share one archive. */
async function openAll(count: number, url: string): Promise<Stores[]> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-jobs-redis-"));
  const opened: Stores[] = [];
  onTestFinished(async () => {
    for (const stores of opened) await stores.close();
    removeFolder(folder);
  });
  for (let at = 0; at < count; at++) {
    const environment = {
      DATA_DIR: join(folder, String(at)),
      ARCHIVE_URL: `file://${join(folder, "archive.db")}`,
      REDIS_URL: url,
      REDIS_COMMAND_MS: String(HASTY_MS),
    };
    const fatal = (error: Error) => {
      throw error;
    };
    opened.push(await openStores(readConfig(environment), { onFatal: fatal }));
  }
  return opened;
}

/**
 * Launches through the first two processes while `fault` strikes `times` times; halfway the first one stops, and the other two adopt its
 * jobs at once. Then every acknowledged launch has ended once, is charged once, and nothing is held.
 */
async function live(url: string, times: number, fault: (round: number) => Promise<void>): Promise<void> {
  const random = randomFrom(SEED);
  const all = await openAll(3, url);
  await all[0]?.ledger.openAccount(newAccount(ACCOUNT, 1_000_000));
  const asked: Asked = [];
  const kind = stepping(STEPS, () => sleep(random() * STEP_MS_MAX));
  const vendor: Vendor = async (wanted) => {
    await sleep(random() * STEP_MS_MAX);
    return knowsAll(wanted);
  };
  const fleet = all.map((stores, at) => {
    const self = `process-${at}`;
    const options = { runnerLeaseMs: RUNNER_LEASE_MS, holdLeaseMs: HOLD_LEASE_MS };
    const innerCalls = (outer: OuterCall) => vendorCalls(outer, self, vendor, asked);
    const kinds = [kind, ...deepKinds(stores.records).kinds];
    return { stores, ...openJobs(stores, self, kinds, { ...options, innerCalls }) };
  });
  const stop = () => Promise.all(fleet.map(({ jobs }: JobsStage) => jobs.stop()));
  onTestFinished(async () => void (await stop()));
  for (const { jobs } of fleet) await jobs.start();

  const told: string[] = [];
  /** The expected charge of each job. */
  const cents = new Map<string, number>();
  let refused = 0;
  let round = 0;
  const lane = async (number: number) => {
    for (let at = 0; round < times; at++) {
      // The first process launches no more once it has stopped.
      const one = fleet[round < times / 2 ? number % 2 : 1];
      if (one === undefined) throw new Error("nobody launches");
      const name = `l${number}x${at}`;
      // Every fourth is deep, each kind in turn.
      const deep = at % 4 === 0 ? DEEP_WORK[(at / 4) % DEEP_WORK.length]?.(name) : undefined;
      const work = deep ?? { job: "stepping", start: { name }, amountNano: BUDGET };
      const launch = await launchThroughKernel(one.stores, one.jobs, name, { leaseMs: HOLD_LEASE_MS, work });
      cents.set(launch.jobId, deep === undefined ? STEPS : deep.amountNano / CENT);
      if (launch.told) told.push(launch.jobId);
      else refused += 1;
      await sleep(random() * 20);
    }
  };
  const launching = Array.from({ length: LANES }, (_, number) => lane(number));
  while (round < times) {
    const enough = told.length + LAUNCHES_BETWEEN;
    await eventually(() => (told.length >= enough ? true : undefined), "more launches");
    if (round === Math.floor(times / 2)) {
      await fleet[0]?.jobs.stop();
      void Promise.all(fleet.slice(1).map(({ jobs }) => jobs.adopt())).catch(() => {});
    }
    await fault(round);
    round += 1;
  }
  await Promise.all(launching);
  await eventually(
    () => (fleet.every(({ jobs }, at) => at === 0 || jobs.running() === 0) ? true : undefined),
    "all jobs to end",
    HELD_MS_MAX,
  );
  const { stores } = fleet[1] ?? {};
  if (stores === undefined) throw new Error("nobody is left");
  const open = async () => {
    for (const id of told) {
      const state = (await findJob(stores.records, id))?.job.state;
      if (state !== undefined && state !== "succeeded" && state !== "failed") return undefined;
    }
    return true;
  };
  const noneHeld = async () => {
    await stores.ledger.sweep(500);
    return (await moneyOf(stores)).held === 0 ? true : undefined;
  };
  // The store may still be unavailable.
  await eventually(() => open().catch(() => undefined), "every job to have ended", HELD_MS_MAX);
  await eventually(() => noneHeld().catch(() => undefined), "nothing to be held", HELD_MS_MAX);

  let charged = 0;
  const adoptedTwice: string[] = [];
  for (const id of told) {
    const job = (await findJob(stores.records, id))?.job;
    const posting = await stores.ledger.transaction(ACCOUNT, id.replace(/^job_/, "tx_"));
    const paid = posting === null ? 0 : posting.amountNano / CENT;
    expect([id, job?.state, job?.chargedCents, paid]).toEqual([id, "succeeded", cents.get(id), cents.get(id)]);
    charged += paid;
    const by = new Set(asked.filter(({ jobId }) => jobId === id).map((one) => one.by));
    by.delete("process-0");
    if (by.size > 1) adoptedTwice.push(id);
  }
  const runs = new Map(asked.map(({ jobId, by }) => [`${jobId} ${by}`, jobId]));
  const adopted = runs.size - new Set(runs.values()).size;
  const { spent } = await moneyOf(stores);
  console.log(
    `seed ${SEED}: ${told.length} launches told of, ${refused} refused, ${adopted} went on in another process, ` +
      `${spent - charged} cents charged that nobody was told of`,
  );
  expect(adoptedTwice).toEqual([]);
  // A launch whose answer failed is undone: it must never be charged.
  expect(spent).toBe(charged);
  expect((await stores.ledger.doctor()).findings).toEqual([]);
  await stop();
}

it("Redis is killed eight times, and comes back at once or after a while", {
  timeout: 600_000 + REDIS_MS_MAX,
}, async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.dispose());
  const random = randomFrom(SEED + 1);
  await live(redis.url, 8, async () => {
    await redis.kill();
    await sleep(random() < 0.5 ? 0 : random() * 1_500);
    await redis.start();
  });
});

it("a replica takes over from a primary that is killed", { timeout: 600_000 + REDIS_MS_MAX }, async () => {
  const primary = await startRedis();
  const replica = await startRedis({ replicaof: `127.0.0.1 ${primary.port}` });
  const sentinel = await startSentinel(primary.port);
  onTestFinished(async () => {
    await sentinel.dispose();
    await replica.dispose();
    await primary.dispose();
  });
  await eventually(async () => (await primary.send("WAIT", "1", "50")) === 1 || undefined, "the replica");
  await eventually(async () => {
    return String(await sentinel.send("SENTINEL", "REPLICAS", "main")).includes(String(replica.port)) || undefined;
  }, "a sentinel that knows the replica");
  await live(`redis+sentinel://127.0.0.1:${sentinel.port}/main`, 2, async (round) => {
    if (round === 1) await primary.kill();
  });
});
