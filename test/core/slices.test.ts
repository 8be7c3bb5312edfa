// Work in slices: other work on the event loop runs in between, and the result is the same.
import { setImmediate as turn } from "node:timers/promises";
import { expect, it } from "vitest";
import { compileCatalog } from "../../src/catalog/compile.ts";
import { systemClock } from "../../src/core/clock.ts";
import { atOnce, eachInSlices, eachOf, inSlices, jsonOf, ownSlice, type Steps } from "../../src/core/slices.ts";
import { catalogOf, LIVE, priced, vendor } from "../catalog/catalog-of.ts";
import { manualClock } from "../support/manual-clock.ts";

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

/** How many turns the event loop takes while `work` runs. */
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
  // Twenty milliseconds of work; a slow machine has more slices, never fewer.
  expect(await turnsWhile(() => inSlices(slow()))).toBeGreaterThan((STEPS * STEP_MS) / 0.5 / 2);
  expect(await turnsWhile(async () => atOnce(slow()))).toBeLessThan(2);
});

/** Whether two consecutive slices ran in one turn of the loop, although the loop was free when they could have been split. */
function isTwice(
  took: { turn: number; fromMs: number },
  at: number,
  all: readonly { turn: number; untilMs: number }[],
) {
  if (all[at - 1]?.turn !== took.turn) return false;
  const first = all.findIndex(({ turn }) => turn === took.turn);
  return took.fromMs - (all[first - 1]?.untilMs ?? -1_000) < 20;
}

it("takes one slice a turn, however many works there are, each after all others", async () => {
  const [works, slices] = [32, 4];
  let turns = 0;
  const tookIn: { turn: number; work: number; fromMs: number; untilMs: number }[] = [];
  /** Each step is longer than a slice, so each is one slice. */
  function* slicesOf(work: number): Steps<void> {
    for (let slice = 0; slice < slices; slice++) {
      const fromMs = systemClock.elapsedMs();
      while (systemClock.elapsedMs() < fromMs + 0.6);
      tookIn.push({ turn: turns, work, fromMs, untilMs: systemClock.elapsedMs() });
      yield;
    }
  }
  let next = setImmediate(function again() {
    turns += 1;
    next = setImmediate(again);
  });
  await Promise.all(Array.from({ length: works }, (_, work) => inSlices(slicesOf(work))));
  clearImmediate(next);
  expect(tookIn.filter(isTwice)).toEqual([]);
  const inOrder = Array.from({ length: works * slices }, (_, at) => at % works);
  expect(tookIn.map(({ work }) => work)).toEqual(inOrder);
});

it("has what waits for its own slice go on in turns of its own, and in fewer where turns are long", async () => {
  const works = 20;
  const turnsUntil = async (holdMs: number) => {
    let turns = 0;
    let next = setImmediate(function again() {
      turns += 1;
      const untilMs = systemClock.elapsedMs() + holdMs;
      while (systemClock.elapsedMs() < untilMs);
      next = setImmediate(again);
    });
    await Promise.all(Array.from({ length: works }, () => ownSlice()));
    clearImmediate(next);
    return turns;
  };
  // On a loaded machine, a turn may occasionally take long for other reasons.
  expect(await turnsUntil(0)).toBeGreaterThan(1);
  expect(await turnsUntil(30)).toBeLessThan(works);
});

it("comes to the same result, and rejects with what the work throws", async () => {
  expect(await inSlices(slow())).toBe(atOnce(slow()));
  expect(await inSlices(eachOf([1, 2, 3], (one) => one * 2))).toEqual([2, 4, 6]);
  const broken = eachOf([1], () => {
    throw new Error("this one is broken");
  });
  await expect(inSlices(broken)).rejects.toThrow("this one is broken");
  expect(await eachInSlices([1, 2, 3], async (one) => one * 2)).toEqual([2, 4, 6]);
});

it("has the next day's prices ready at midnight, of those who ask in the hour before it", async () => {
  const clock = manualClock(Date.parse("2026-11-21T23:30:00Z"));
  let read = 0;
  const prices = [
    { since: "2026-01-01", input: "1", output: "2" },
    { since: "2026-11-22", input: "3", output: "4" },
  ];
  const model = {
    contextTokens: 8_192,
    get prices() {
      read += 1;
      return prices;
    },
  };
  const catalog = catalogOf({ adapters: { lab: vendor({ dear: model }, { maker: "lab" }) } }, { clock });
  const input = () => catalog.model("lab/dear", LIVE)?.sale.input;
  expect(input()).toBe(1_000_000);
  const today = read;
  input();
  for (let at = 0; at < 100; at++) await turn();
  const ready = read;
  expect(ready).toBeGreaterThan(today);
  clock.advance(3_600_000);
  expect(input()).toBe(3_000_000);
  expect(read).toBe(ready);
});

it("writes the JSON that JSON.stringify writes, a step for each member", () => {
  const value = { a: [1, "two", null, undefined, { b: { c: [true] } }], 'd"': undefined, e: {}, f: [], g: 1e21 };
  expect(atOnce(jsonOf(value))).toBe(JSON.stringify(value));
  expect([...jsonOf(Array.from({ length: 50 }, () => ({})))].length).toBeGreaterThanOrEqual(50);
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
  // Each is checked, priced and sold; none of these steps handles all at once.
  expect(left).toBeGreaterThan(6 * names.length);
});
