// The test suite: real servers on free ports, so files run side by side. vitest.system.config.ts and vitest.quick.config.ts are lanes like it.
import { availableParallelism } from "node:os";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import { HeavyFirst } from "./test/heavy-first.ts";
import { LANE, PROCESSES } from "./test/lane-config.ts";
import LaneReport, { type LaneBounds } from "./test/lane-report.ts";
import { suiteFiles, type TestFile } from "./test/lanes.ts";
import { LONG_RUNS } from "./test/support/runs.ts";

/** Files spend half their time waiting for clocks and sockets: two more than there are cores keep the cores busy. */
const WORKERS = Math.min(8, availableParallelism() + 2);

/** Shared by every process that runs tests. */
const COMMON = {
  ...PROCESSES,
  maxWorkers: WORKERS,
  // Concurrent tests of one file mostly wait for clocks.
  maxConcurrency: 20,
  // Bounds for what hangs, not for what is slow: other programs may load the machine as well.
  testTimeout: 180_000,
  hookTimeout: 180_000,
};

interface Bounds extends LaneBounds {
  /** The most processor time that one file may take with its children, in seconds. */
  readonly fileCpuSecondsMax: number;
  readonly workers?: number;
}

export function suite(files: readonly TestFile[], { fileCpuSecondsMax, workers, ...bounds }: Bounds): ViteUserConfig {
  const maxWorkers = workers ?? WORKERS;
  const paths = (ownProcess: boolean) => files.filter((file) => file.ownProcess === ownProcess).map(({ path }) => path);
  const provide = { fileCpuSecondsMax };
  return {
    test: {
      globalSetup: LANE.globalSetup,
      sequence: { sequencer: HeavyFirst },
      reporters: ["default", new LaneReport(bounds)],
      maxWorkers,
      projects: [
        {
          // A process runs one file after another: a new process that reads the sources again for each file took a quarter of the time.
          // Files share no state, since the sources have no globals; what a file of test/support opens ends with the test that opened it.
          test: { ...COMMON, maxWorkers, name: "shared", include: paths(false), isolate: false, provide },
        },
        {
          // Files that count what belongs to the whole process: its timers, its memory. Where Node reads the sources by the hook of
          // test/support/kept-sources.mjs a process keeps 200 MB more, for a reason not found yet; a gateway's own growth is the same.
          test: {
            ...COMMON,
            maxWorkers,
            experimental: {},
            name: "own process",
            include: paths(true),
            isolate: true,
            provide,
          },
        },
      ],
    },
  };
}

/** A file that is named on the command line runs, whichever lane it belongs to. */
const namesFiles = process.argv.some((word) => word.endsWith(".test.ts"));

export default defineConfig(
  suite(
    suiteFiles().filter(({ lane }) => lane === "test" || namesFiles),
    // Two cores take 306 s with six workers and 335 s with four. The long forms use more of the processor.
    { fileCpuSecondsMax: 40, workers: LONG_RUNS ? WORKERS : WORKERS + 2 },
  ),
);
