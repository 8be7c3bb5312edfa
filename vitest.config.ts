// The test suite: real servers on free ports, so files run side by side but each in its own process.
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/faults/**"],
    pool: "forks",
    // Much of a test is waiting for clocks and sockets: two files side by side do well on two cores.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    execArgv: ["--disable-warning=ExperimentalWarning"],
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
