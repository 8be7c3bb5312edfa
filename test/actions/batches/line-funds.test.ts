// What lines may cost: one that the gateway calls, no more than was set aside for it; one that a provider has run, whatever is left.
import { expect, it } from "vitest";
import { LineFunds } from "../../../src/actions/batches/line-calls.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { type Nano, nano } from "../../../src/core/money.ts";
import type { Capture, Plan } from "../../../src/core/plan.ts";
import { Spend } from "../../../src/kernel/parent-funds.ts";

/** What lines with this quote are charged for their costs, one after another; null: refused. */
async function charged(isDone: boolean, quote: number, costs: readonly number[]): Promise<(Nano | null)[]> {
  const spend = new Spend(nano(100), "price");
  const all: (Nano | null)[] = [];
  for (const cost of costs) {
    const funds = new LineFunds(spend, isDone);
    const held = await funds.reserve({ quote: { nano: nano(quote), tighten: null } } as unknown as Plan, "line");
    if (!(held instanceof GatewayError))
      await funds.capture(held, { cost: { chargeNano: nano(cost), usage: null }, legs: [] } as unknown as Capture);
    all.push(held instanceof GatewayError ? null : funds.chargedNano);
  }
  return all;
}

it("a line that the gateway calls has room for its quote, and costs no more", async () => {
  expect(await charged(false, 60, [30, 70, 5])).toEqual([30, 60, null]);
});

it("a line that a provider has run is never refused, and costs what is left at most", async () => {
  expect(await charged(true, 1, [30, 60, 20, 5])).toEqual([30, 60, 10, 0]);
});
