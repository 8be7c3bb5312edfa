// The long fault tests: kill loops and mixed loads, one file at a time because they own the machine while they run.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/faults/**/*.test.ts"],
    pool: "forks",
    globalSetup: ["test/support/run-folder.ts"],
    execArgv: ["--disable-warning=ExperimentalWarning"],
    fileParallelism: false,
    // What runs side by side within a file is waiting for clocks, not working.
    maxConcurrency: 100,
    // Bounds for what hangs: on a machine that others load as well, what takes two minutes takes ten.
    testTimeout: 600_000,
    hookTimeout: 180_000,
  },
});
