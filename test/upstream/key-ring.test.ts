// Our keys at one vendor: calls without a conversation take turns, and a conversation stays with one key while that key is usable.
import { expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { createKeyRing } from "../../src/upstream/key-ring.ts";
import { manualClock } from "../support/manual-clock.ts";

const ring = () => createKeyRing(["a", "b", "c"], systemClock);

it("are taken in turn", () => {
  const keys = ring();
  expect([keys.take(), keys.take(), keys.take(), keys.take()]).toEqual(["a", "b", "c", "a"]);
});

it("are kept by a conversation, in any process, and shared by all of them alike", () => {
  const [one, other] = [ring(), ring()];
  other.take();
  const taken = Array.from({ length: 300 }, (_, at) => one.take(() => `conversation ${at}`));
  expect(Array.from({ length: 300 }, (_, at) => other.take(() => `conversation ${at}`))).toEqual(taken);
  for (const key of ["a", "b", "c"]) expect(taken.filter((one) => one === key).length).toBeGreaterThan(60);
});

it("that rest are passed over, and come back to their conversations", () => {
  const clock = manualClock(0);
  const keys = createKeyRing(["a", "b", "c"], clock);
  const mine = keys.take(() => "mine");
  expect(keys.rest(mine, 60_000)).toBe(true);
  const spare = keys.take(() => "mine");
  expect(spare).not.toBe(mine);
  expect(keys.take(() => "mine")).toBe(spare);
  // Another call's shorter wait does not end a longer rest.
  keys.rest(mine, 1_000);
  clock.advance(30_000);
  expect(keys.take(() => "mine")).toBe(spare);
  clock.advance(30_000);
  expect(keys.take(() => "mine")).toBe(mine);
});

it("ask for no conversation where there is one key", () => {
  const keys = createKeyRing(["only"], systemClock);
  const unasked = () => {
    throw new Error("asked for");
  };
  expect(keys.take(unasked)).toBe("only");
});
