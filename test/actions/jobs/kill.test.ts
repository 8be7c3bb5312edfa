// A few kills of processes that run jobs; the long run is among the fault tests.
import { expect, it } from "vitest";
import { onlyAProcessShows } from "../../support/process-fact.ts";
import { killLoop } from "./kill-loop.ts";

onlyAProcessShows("a killed job runner");

it("a process killed while jobs are launched and run: every launch that was told of ends, and is paid once", async () => {
  expect(await killLoop(3, 20)).toBeGreaterThanOrEqual(60);
});
