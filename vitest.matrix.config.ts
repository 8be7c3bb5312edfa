// Every feature of a request over every chat adapter, whole and streamed, against vendors that refuse what the real ones refuse.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/matrix/*.test.ts"],
    pool: "forks",
    globalSetup: ["test/support/run-folder.ts"],
    execArgv: ["--disable-warning=ExperimentalWarning"],
    // Node reads the sources itself: nothing is transformed.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    maxWorkers: 2,
    // Bounds for what hangs.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    passWithNoTests: true,
  },
});
