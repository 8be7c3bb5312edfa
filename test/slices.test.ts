// Work in slices, from outside: what waits on the event loop goes between them, and the work itself is the same.
import { expect, it } from "vitest";
import { compileCatalog } from "../src/catalog/compile.ts";
import { systemClock } from "../src/clock.ts";
import { atOnce, eachOf, inSlices, type Steps } from "../src/slices.ts";
import { priced, vendor } from "./catalog/catalog-of.ts";

const STEPS = 100;
const STEP_MS = 0.2;

/** Work whose steps take a while each. */
function* slow(): Steps<number> {
  for (let step = 0; step < STEPS; step++) {
    const untilMs = systemClock.elapsedMs() + STEP_MS;
    while (systemClock.elapsedMs() < untilMs);
    yield;
  }
  return STEPS;
}

/** How often the event loop goes round while `work` is done. */
async function turnsWhile(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let next = setImmediate(function again() {
    turns += 1;
    next = setImmediate(again);
  });
  await work().finally(() => clearImmediate(next));
  return turns;
}

it("lets what waits on the loop go between slices of half a millisecond", async () => {
  // Twenty milliseconds; on a slow machine there are more slices, never fewer.
  expect(await turnsWhile(() => inSlices(slow()))).toBeGreaterThan((STEPS * STEP_MS) / 0.5 / 2);
  expect(await turnsWhile(async () => atOnce(slow()))).toBeLessThan(2);
});

it("comes to the same result, and rejects with what the work throws", async () => {
  expect(await inSlices(slow())).toBe(atOnce(slow()));
  expect(await inSlices(eachOf([1, 2, 3], (one) => one * 2))).toEqual([2, 4, 6]);
  const broken = eachOf([1], () => {
    throw new Error("this one is broken");
  });
  await expect(inSlices(broken)).rejects.toThrow("this one is broken");
});

it("makes a catalog in more steps than it has models, for either audience", () => {
  const names = Array.from({ length: 500 }, (_, at) => `model-${at}`);
  const models = Object.fromEntries(names.map((name) => [name, priced("1", "2")]));
  const adapters = new Map([["lab", vendor(models, { maker: "lab" })]]);
  const none = new Map<string, never>();
  const files = { adapters, tiers: none, actionTiers: none, compositeTiers: none, tables: none, standIns: none };
  const rules = { markupPercent: 0, allowLoss: false };
  const steps = compileCatalog(files, {
    env: {},
    clock: systemClock,
    sandboxOrigin: null,
    contact: null,
    ahead: true,
    ...rules,
  });
  let left = 0;
  let made = steps.next();
  for (; made.done !== true; made = steps.next()) left += 1;
  expect(made.value.models({ sandbox: true })).toHaveLength(names.length);
  // Each is checked, priced and sold; none of these takes all at a time.
  expect(left).toBeGreaterThan(6 * names.length);
});
