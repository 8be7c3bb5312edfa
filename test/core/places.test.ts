// Places for work that waits: an aborted wait loses nobody else's turn.
import { expect, it } from "vitest";
import { Places } from "../../src/core/places.ts";

it("an abort just after its turn came takes no turn of the same owner's next work", async () => {
  const places = new Places(1);
  await places.enter("a");
  const late = new AbortController();
  const first = places.enter("a", late.signal);
  places.leave();
  const second = places.enter("a");
  late.abort();
  places.leave();
  expect(await Promise.all([first, second])).toEqual([true, true]);
});

it("an aborted wait takes no place", async () => {
  const places = new Places(1);
  await places.enter("a");
  const waiting = new AbortController();
  const first = places.enter("b", waiting.signal);
  waiting.abort();
  expect(await first).toBe(false);
  places.leave();
  expect(places.isIdle).toBe(true);
});

it("owners take turns, each with its own work in order", async () => {
  const places = new Places(1);
  const begun: string[] = [];
  const work = ["a1", "a2", "a3", "b1", "c1"].map((name) =>
    places.run(name.slice(0, 1), async () => void begun.push(name)),
  );
  await Promise.all(work);
  expect(begun).toEqual(["a1", "a2", "b1", "c1", "a3"]);
});

it("work that waits too long is refused, and the next work has its turn", async () => {
  const places = new Places(1);
  const slow = Promise.withResolvers<string>();
  const first = places.within(10, () => slow.promise);
  await expect(places.within(10, async () => "late")).rejects.toThrow("its turn has not come");
  const third = places.within(60_000, async () => "third");
  slow.resolve("first");
  expect(await Promise.all([first, third])).toEqual(["first", "third"]);
  expect(places.isIdle).toBe(true);
});
