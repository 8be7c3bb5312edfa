// Vendors' own SDKs, from a lockfile of their own in test/vendor-sdks, against a recorder beside our adapters: the requests are compared by field.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/vendor-sdks/*.test.ts"],
    pool: "forks",
    globalSetup: ["test/support/run-folder.ts"],
    execArgv: ["--disable-warning=ExperimentalWarning"],
    // Node reads the sources itself: nothing is transformed.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    maxWorkers: 1,
    // What SDKs are made of is read once for all files.
    isolate: false,
    // Bounds for what hangs.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
