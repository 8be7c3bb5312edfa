// The short form of test/faults/gateway-kill.test.ts: a gateway killed under load loses nothing and charges nothing twice.
import { it } from "vitest";
import { expectNothingLost, runKillLoop } from "../support/kill-loop.ts";
import { onlyAProcessShows } from "../support/process-fact.ts";

onlyAProcessShows("a killed gateway");

it("a gateway that is killed under load keeps every charge it has acknowledged, once", async () => {
  const seed = Number(process.env.KILL_SEED ?? Date.now() % 1_000_000);
  console.log(`seed ${seed}`);
  const plan = { seed, kills: 3, loadMs: [200, 700], workers: 16 } as const;
  expectNothingLost(await runKillLoop(plan), plan);
});
