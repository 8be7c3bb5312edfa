// The long fault tests: kill loops and mixed loads. Three files at a time, since most of each is waiting for clocks; those that measure run alone.
import { defineConfig } from "vitest/config";
import { LANE, PROCESSES } from "./test/lane-config.ts";
import { longestFirst } from "./test/longest-first.ts";

/** Their bounds are times of a machine that has nothing else to do. */
const ALONE = ["failover-scenarios", "jobs-restart", "neighbours", "slow-sync"].map(
  (name) => `test/faults/${name}.test.ts`,
);

/**
 * What takes a minute and more, as measured: begun last, one of these was left running alone for two and a half minutes. Redis has its bounds
 * beside files that wait, so the random lives, which burn the processor, come after it.
 */
const LONGEST = [
  "ledger-kill",
  "redis",
  "payments-kill",
  "gateway-kill",
  "spool",
  "simulation",
  "processes",
  "jobs-kill",
  "failover-outages",
  "soak",
  "slow-clients",
];

const COMMON = {
  ...PROCESSES,
  // What runs side by side within a file is waiting for clocks, not working.
  maxConcurrency: 100,
  // Bounds for what hangs: on a machine that others load as well, what takes two minutes takes ten.
  testTimeout: 600_000,
  hookTimeout: 180_000,
};

export default defineConfig({
  test: {
    globalSetup: LANE.globalSetup,
    sequence: { sequencer: longestFirst(LONGEST) },
    projects: [
      {
        test: {
          ...COMMON,
          name: "three at a time",
          include: ["test/faults/**/*.test.ts"],
          exclude: ALONE,
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
      { test: { ...COMMON, name: "alone", include: ALONE, maxWorkers: 1, sequence: { groupOrder: 1 } } },
    ],
  },
});
