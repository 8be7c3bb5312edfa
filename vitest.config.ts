// The test suite: real servers on free ports, so files run side by side but each in its own process.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/faults/**"],
    pool: "forks",
    execArgv: ["--disable-warning=ExperimentalWarning"],
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
