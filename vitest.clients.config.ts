// Real clients, from a lockfile of their own in test/clients: coding agents and SDKs against a gateway whose vendors are stand-ins.
import { defineConfig } from "vitest/config";
import { LANE } from "./test/lane-config.ts";
import { longestFirst } from "./test/longest-first.ts";

export default defineConfig({
  test: {
    ...LANE,
    passWithNoTests: true,
    include: ["test/clients/*.test.ts"],
    // What is imported is read once for all files of a process.
    isolate: false,
    maxWorkers: 3,
    // Bounds for what hangs: an agent starts in seconds on a quiet machine.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // As measured: begun last, the first of them was left running alone for two and a half minutes.
    sequence: { sequencer: longestFirst(["python", "own-facilitator", "google-genai", "gemini-cli"]) },
  },
});
