// Conversations that have moved, as processes report them to each other.
import { expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { createMovedConversations } from "../../src/upstream/moved-conversations.ts";
import { manualClock } from "../support/manual-clock.ts";

it("are told once, the newest state of each, and what was heard is told to nobody", () => {
  const [here, there] = [createMovedConversations(systemClock), createMovedConversations(systemClock)];
  here.served("a", "x", "same-model");
  here.served("b", "x", "same-model");
  here.served("b", "first", "first");
  here.served("never moved", "first", "first");
  const news = here.news();
  expect(news).toEqual([
    ["a", "x"],
    ["b", null],
  ]);
  expect(here.news()).toEqual([]);
  for (const one of news) there.hear(one);
  expect([there.routeOf("a"), there.routeOf("b"), there.news()]).toEqual(["x", null, []]);
  there.hear(["a", null]);
  expect(there.size).toBe(0);
});

it("that nobody asks for take no more room than a thousand", () => {
  const moved = createMovedConversations(systemClock);
  for (let at = 0; at < 3_000; at++) moved.served(String(at), "x", "same-model");
  expect([moved.size, moved.known().length]).toEqual([3_000, 1_000]);
  const news = moved.news();
  expect([news.length, news.at(-1)]).toEqual([1_000, ["2999", "x"]]);
});

it("go back ten minutes after their last call, or where another model serves them, after the move", () => {
  const clock = manualClock(0);
  const moved = createMovedConversations(clock);
  moved.served("same", "x", "same-model");
  moved.served("other", "x", "other-model");
  moved.news();
  clock.advance(599_000);
  moved.served("same", "x", "same-model");
  moved.served("other", "x", "other-model");
  expect(moved.news()).toEqual([["same", "x"]]);
  clock.advance(2_000);
  expect([moved.routeOf("same"), moved.routeOf("other")]).toEqual(["x", null]);
  // It moves once more: another ten minutes.
  moved.served("other", "y", "other-model");
  clock.advance(597_000);
  expect([moved.routeOf("same"), moved.routeOf("other")]).toEqual(["x", "y"]);
});
