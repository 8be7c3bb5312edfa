// What starts processes, servers or a browser, beyond the one file for each fact that `npm test` has.
import { defineConfig } from "vitest/config";
import { suiteFiles } from "./test/lanes.ts";
import { suite } from "./vitest.config.ts";

export default defineConfig(
  suite(
    suiteFiles().filter(({ lane }) => lane === "system"),
    { fileCpuSecondsMax: 60 },
  ),
);
