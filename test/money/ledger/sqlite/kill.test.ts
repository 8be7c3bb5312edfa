import { expect, test } from "vitest";
import { onlyAProcessShows } from "../../../support/process-fact.ts";
import { killLoop } from "./kill-loop.ts";

onlyAProcessShows("a killed ledger");

test("a process killed under load loses no acknowledged charge and leaves no hold", async () => {
  expect(await killLoop(3, 2_000)).toBeGreaterThan(0);
});
