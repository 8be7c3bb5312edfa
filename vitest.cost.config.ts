// What a call costs, in counts that other load does not move, held against those of bench/counts.json.
import { defineConfig } from "vitest/config";
import { LANE } from "./test/lane-config.ts";

export default defineConfig({
  test: {
    ...LANE,
    include: ["test/cost/*.test.ts"],
    // Bounds for what hangs.
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
