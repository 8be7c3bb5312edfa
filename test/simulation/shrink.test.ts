// A failure is repeatable, and shrinks to the few events that cause it.
import { expect, test } from "vitest";
import { run } from "./run.ts";
import { scenarioOf } from "./scenario.ts";
import { shrink } from "./shrink.ts";

test("a scenario always takes the same course", async () => {
  for (let seed = 1; seed <= 5; seed++) {
    const courses = [await run(scenarioOf(seed)), await run(scenarioOf(seed))].map(({ counts }) => [...counts]);
    expect(courses[0]).toEqual(courses[1]);
  }
});

test("what is not needed for a failure is left out of it", async () => {
  const whole = scenarioOf(3);
  const [needed, other] = [whole.faults[2], whole.faults.at(-1)];
  const call = whole.calls[7];
  const small = await shrink(whole, async ({ faults, calls }) => {
    return (
      faults.some((one) => one === needed) && faults.some((one) => one === other) && calls.some((one) => one === call)
    );
  });
  expect(whole.faults.length).toBeGreaterThan(10);
  expect(small.faults).toEqual([needed, other]);
  expect(small.calls).toEqual([call]);
});
