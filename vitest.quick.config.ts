// The part of the suite for every save: whatever starts no process, no gateway and no random histories and repeats no
// other file, and one file for each door.
import { defineConfig } from "vitest/config";
import { suiteFiles } from "./test/lanes.ts";
import { suite } from "./vitest.config.ts";

const files = suiteFiles();
const quick = files.filter((file) => file.quick);

export default defineConfig(
  suite(quick, {
    fileCpuSecondsMax: 45,
    // Two quiet cores spend a minute on twice as much.
    cpuSecondsMax: 110,
    leftOut: `Left out: ${files.length - quick.length} files that start processes, gateways or random histories, or repeat others.`,
  }),
);
