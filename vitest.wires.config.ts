// Vendors' own SDKs, from a lockfile of their own in test/vendor-sdks, against a recorder beside our adapters: the requests are compared by field.
import { defineConfig } from "vitest/config";
import { LANE } from "./test/lane-config.ts";

export default defineConfig({
  test: {
    ...LANE,
    include: ["test/vendor-sdks/*.test.ts"],
    maxWorkers: 1,
    // What SDKs are made of is read once for all files.
    isolate: false,
    // Bounds for what hangs.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
