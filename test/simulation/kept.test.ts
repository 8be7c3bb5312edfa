// Replays simulated lives that once went wrong.
import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { expect, test } from "vitest";
import { run } from "./run.ts";
import type { Scenario } from "./scenario.ts";

const FILES = globSync(`${import.meta.dirname}/../regression/simulation-*.json`);

test.each(FILES.map((file) => [basename(file, ".json"), file]))("%s goes well", async (_name, file) => {
  const scenario = JSON.parse(readFileSync(file, "utf8")) as Scenario;
  expect((await run(scenario)).wrong).toEqual([]);
});
