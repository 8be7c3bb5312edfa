// The limit for the cost of an account's jobs beyond their holds: shared by all of them, and released when they end.
import { expect, it } from "vitest";
import { CostRooms } from "../../../src/actions/jobs/cost-room.ts";
import { nano } from "../../../src/core/money.ts";
import { Spend } from "../../../src/kernel/parent-funds.ts";

it("is shared by an account's jobs, beside what each of them holds", () => {
  const rooms = new CostRooms(nano(50));
  const jobOf = (account: string, spent = 0) => new Spend(nano(100), "upstream_cost", nano(spent), rooms.of(account));
  const [one, other, stranger] = [jobOf("eve"), jobOf("eve"), jobOf("ada")];
  expect(one.setAside(nano(140))).toBe(true);
  expect(other.setAside(nano(111))).toBe(false);
  expect(other.setAside(nano(110))).toBe(true);
  expect(stranger.setAside(nano(150))).toBe(true);
});

it("is free again as far as a step has cost less, and whole when its job has ended", () => {
  const rooms = new CostRooms(nano(50));
  const one = new Spend(nano(100), "upstream_cost", nano(0), rooms.of("eve"));
  expect(one.setAside(nano(150))).toBe(true);
  expect(rooms.of("eve").has(nano(1))).toBe(false);
  one.settle(nano(150), nano(120));
  expect([30, 31].map((more) => rooms.of("eve").has(nano(more)))).toEqual([true, false]);
  one.close();
  expect(rooms.of("eve").has(nano(50))).toBe(true);
  // A call that answers after its job was abandoned uses nothing of the limit.
  one.settle(nano(0), nano(500));
  expect(rooms.of("eve").has(nano(50))).toBe(true);
});

it("counts what an adopted job had cost before, and has no end where there is no bound", () => {
  const rooms = new CostRooms(nano(50));
  new Spend(nano(100), "upstream_cost", nano(140), rooms.of("eve"));
  expect([10, 11].map((more) => rooms.of("eve").has(nano(more)))).toEqual([true, false]);
  expect(new Spend(nano(1), "upstream_cost", nano(0), new CostRooms(null).of("eve")).setAside(nano(1e12))).toBe(true);
});

it("is none for work that may cost no more than it holds", () => {
  expect(new Spend(nano(100), "upstream_cost").setAside(nano(101))).toBe(false);
});
