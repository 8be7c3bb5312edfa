// The corpus: pages of twenty kinds, of which it is written down what a reader must get of each.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/corpus/*.test.ts"],
    pool: "forks",
    globalSetup: ["test/support/run-folder.ts"],
    execArgv: ["--disable-warning=ExperimentalWarning"],
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // A bound for what hangs.
    testTimeout: 180_000,
  },
});
