// The test suite: real servers on free ports, so files run side by side.
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { HeavyFirst } from "./test/heavy-first.ts";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/faults/**"],
    pool: "forks",
    globalSetup: ["test/support/run-folder.ts"],
    // Much of a test is waiting for clocks and sockets: one file more than there are cores keeps these busy.
    maxWorkers: Math.min(8, availableParallelism() + 1),
    // A process runs one file after another: starting it and reading the sources anew for each took a quarter of all the work.
    // Files share no state, since the sources have no globals; what a file of test/support opens ends with the test that asked.
    isolate: false,
    sequence: { sequencer: HeavyFirst },
    execArgv: ["--disable-warning=ExperimentalWarning"],
    // Bounds for what hangs, not for what is slow: others may load the machine as well.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
