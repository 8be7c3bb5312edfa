// The part of the suite for every save: whatever starts no process, no gateway and no random histories, and one file for each door.
import { defineConfig } from "vitest/config";
import { suiteFiles } from "./test/lanes.ts";
import { QuickReport } from "./test/quick-report.ts";
import { suite } from "./vitest.config.ts";

const files = suiteFiles();
const quick = files.filter((file) => file.quick);
const { test } = suite(quick, { fileCpuSecondsMax: 45 });

export default defineConfig({
  test: { ...test, reporters: ["default", new QuickReport(files.length - quick.length)] },
});
