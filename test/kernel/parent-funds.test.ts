// What a parent's spend grants its inner calls: the cheap bound first, then the counted one, and never more than is free.
import { expect, it } from "vitest";
import { nano } from "../../src/core/money.ts";
import type { Quote } from "../../src/core/plan.ts";
import { ParentFunds, Spend } from "../../src/kernel/parent-funds.ts";
import { planOver } from "../support/scripted-plan.ts";

const CHEAP = nano(100);
const COUNTED = nano(40);

/** A quote that counts only when asked. */
function quoted(): { readonly quote: Quote; counted(): number } {
  let counts = 0;
  const quote: Quote = {
    nano: CHEAP,
    async tighten() {
      counts += 1;
      return COUNTED;
    },
    affordable: () => ({}),
    upstreamNano: () => (counts === 0 ? CHEAP : COUNTED),
  };
  return { quote, counted: () => counts };
}

const reserve = (free: number, counted: "price" | "upstream_cost", quote: Quote) =>
  new ParentFunds(new Spend(nano(free), counted)).reserve(planOver([], { quote }).plan, "tx_1.1");

it.each(["price", "upstream_cost"] as const)("counts the %s only where the cheap bound does not fit", async (by) => {
  const roomy = quoted();
  expect(await reserve(100, by, roomy.quote)).toEqual({ id: "tx_1.1", amountNano: CHEAP });
  expect(roomy.counted()).toBe(0);
  const short = quoted();
  expect(await reserve(60, by, short.quote)).toEqual({ id: "tx_1.1", amountNano: COUNTED });
  expect(short.counted()).toBe(1);
});

it.each(["price", "upstream_cost"] as const)("refuses what is above the %s that is free, counted too", async (by) => {
  expect(await reserve(39, by, quoted().quote)).toMatchObject({ code: "over_budget" });
});

it("what a part has spent is finished once it has ended", () => {
  const spend = new Spend(nano(100), "upstream_cost", nano(5));
  const [one, other] = [spend.part(), spend.part()];
  for (const part of [one, other]) {
    expect(part.setAside(nano(20))).toBe(true);
    part.settle(nano(20), nano(10));
  }
  expect([spend.spentNano, spend.finishedNano, spend.freeNano]).toEqual([25, 5, 75]);
  one.end();
  one.end();
  expect([spend.spentNano, spend.finishedNano]).toEqual([25, 15]);
  // A call that answers after its row was given up no longer counts for it.
  one.setAside(nano(20));
  one.settle(nano(20), nano(3));
  expect([spend.spentNano, spend.finishedNano]).toEqual([28, 18]);
});
