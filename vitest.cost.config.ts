// What a call costs, in counts that other load does not move, held against those of bench/counts.json.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/cost/*.test.ts"],
    pool: "forks",
    globalSetup: ["test/support/run-folder.ts"],
    execArgv: ["--disable-warning=ExperimentalWarning"],
    // Node reads the sources itself: nothing is transformed.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Bounds for what hangs.
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
