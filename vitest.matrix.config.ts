// Every feature of a request over every chat adapter, whole and streamed, against vendors that refuse what the real ones refuse.
import { defineConfig } from "vitest/config";
import { LANE } from "./test/lane-config.ts";

export default defineConfig({
  test: {
    ...LANE,
    passWithNoTests: true,
    include: ["test/matrix/*.test.ts"],
    maxWorkers: 2,
    // Bounds for what hangs.
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
