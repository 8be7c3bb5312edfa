// Two processes under load over a Redis that is killed, stopped, slowed and cut, and that forgets what it has acknowledged.
import { expect, it } from "vitest";
import { spoolLoop } from "../support/spool-loop.ts";

const FAULTS = ["kill redis", "freeze redis", "slow redis", "cut", "swallow", "kill a process"] as const;
const seed = Number(process.env.SPOOL_SEED ?? Date.now() % 1_000_000);

it("appendfsync always: every acknowledged charge is there once, whatever dies", { timeout: 300_000 }, async () => {
  const report = await spoolLoop({ seed, rounds: 12, processes: 2, appendfsync: "always", faults: FAULTS });
  console.log(`seed ${seed}: ${report.charges} charges acknowledged, ${report.orphans} of holds that were lost`);
  expect(report.charges).toBeGreaterThan(1_000);
});

it("appendfsync everysec, and the end of the log is lost: the spools bring it back", { timeout: 300_000 }, async () => {
  const faults = [...FAULTS, "lose its tail", "lose its tail", "lose its tail"] as const;
  const report = await spoolLoop({ seed, rounds: 12, processes: 2, appendfsync: "everysec", faults });
  console.log(`seed ${seed}: ${report.charges} charges acknowledged, ${report.orphans} of holds that were lost`);
  expect(report.orphans).toBeGreaterThan(0);
});
