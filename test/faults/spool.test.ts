// Two processes under load over a Redis that is killed, stopped, slowed and cut, and that loses acknowledged writes.
import { beforeAll, expect, it } from "vitest";
import { INSTALLED_MS_MAX } from "../support/apt-install.ts";
import { frailDisk } from "../support/frail-disk.ts";
import { type SpoolPlan, spoolLoop } from "../support/spool-loop.ts";
import { replicatedCluster, singleRedis } from "../support/spool-stage.ts";

const FAULTS = ["kill redis", "freeze redis", "slow redis", "cut", "swallow", "kill a process"] as const;
const seed = Number(process.env.SPOOL_SEED ?? Date.now() % 1_000_000);

async function run(plan: Omit<SpoolPlan, "seed" | "processes">) {
  const report = await spoolLoop({ seed, processes: 2, ...plan });
  console.log(`seed ${seed}: ${report.charges} charges acknowledged, ${report.orphans} of holds that were lost`);
  return report;
}

beforeAll(async () => {
  (await frailDisk(0)).dispose();
}, INSTALLED_MS_MAX);

it("appendfsync always: every acknowledged charge is there once, whatever dies", async () => {
  const report = await run({ rounds: 12, stage: singleRedis({ appendfsync: "always" }), faults: FAULTS });
  expect(report.charges).toBeGreaterThan(100);
});

it("appendfsync everysec, and the end of the log is lost: the spools bring it back", async () => {
  const faults = [...FAULTS, "lose its tail", "lose its tail", "lose its tail"];
  const report = await run({ rounds: 12, stage: singleRedis({ appendfsync: "everysec" }), faults });
  expect(report.orphans).toBeGreaterThan(0);
});

it("appendfsync always, each sync takes 2 ms longer: every acknowledged charge is there once, whatever dies", async () => {
  const stage = singleRedis({ appendfsync: "always", syncMs: 2 });
  const report = await run({ rounds: 5, stage, faults: ["kill redis", "lose its power"] });
  expect(report.charges).toBeGreaterThan(100);
});

it("appendfsync always, killed in syncs that take 400 ms: every acknowledged charge is there once", async () => {
  const stage = singleRedis({ appendfsync: "always", syncMs: 0 });
  const report = await run({ rounds: 5, stage, faults: ["lose its power in a long sync"] });
  expect(report.charges).toBeGreaterThan(100);
});

it("appendfsync everysec, each sync takes 400 ms longer: what the server forgets the spools bring back", async () => {
  const stage = singleRedis({ appendfsync: "everysec", syncMs: 400 });
  const report = await run({ rounds: 6, stage, faults: ["kill redis", "lose its power"] });
  expect(report.orphans).toBeGreaterThan(0);
});

it("masters of a cluster die and replicas that are behind take over: every acknowledged charge is there once", async () => {
  const report = await run({ rounds: 3, stage: replicatedCluster, faults: ["kill a master"] });
  expect(report.charges).toBeGreaterThan(100);
  expect(report.orphans).toBeGreaterThan(0);
});
