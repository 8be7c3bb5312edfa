// A gateway under load, killed repeatedly without warning for two minutes, sometimes while it starts.
import { expect, it } from "vitest";
import { expectNothingLost, runKillLoop } from "../support/kill-loop.ts";

it("a gateway that is killed forty times under load keeps every charge it has acknowledged, once", async () => {
  const seed = Number(process.env.KILL_SEED ?? Date.now() % 1_000_000);
  const plan = { seed, kills: 40, loadMs: [100, 2_500], workers: 48 } as const;
  const report = await runKillLoop(plan);
  const { calls, acknowledged, charges, keys } = report;
  console.log(
    `seed ${seed}: ${calls} calls, ${acknowledged.length} charges acknowledged, ${charges.length} in the ledger, ` +
      `${keys} idempotency keys`,
  );
  expectNothingLost(report, plan);
  expect(acknowledged.length).toBeGreaterThan(plan.kills);
});
