// The corpus: pages of twenty kinds, of which it is written down what a reader must get of each.
import { defineConfig } from "vitest/config";
import { LANE } from "./test/lane-config.ts";

export default defineConfig({
  test: {
    ...LANE,
    include: ["test/corpus/*.test.ts"],
    // A bound for what hangs.
    testTimeout: 180_000,
  },
});
