// Legs are bounded and shortened without losing a nano of their cost.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { PostedLeg } from "../../../../src/core/account-rows.ts";
import { nano } from "../../../../src/core/money.ts";
import {
  compactLegs,
  LEGS_BYTES_MAX,
  LEGS_MAX,
  legsCost,
  legsFault,
  legsIn,
  legsText,
} from "../../../../src/money/ledger/model/legs.ts";
import { legOf as leg } from "../requests.ts";

const legs: fc.Arbitrary<PostedLeg[]> = fc.array(
  fc.record({
    vendor: fc.oneof(fc.constantFrom("a", "b"), fc.string({ maxLength: 40 })),
    model: fc.oneof(fc.constantFrom("m/1", "m/2"), fc.string({ unit: "binary", maxLength: 300 })),
    upstreamNano: fc.nat({ max: 10_000_000_000 }).map(nano),
    ok: fc.boolean(),
    ms: fc.nat({ max: 600_000 }),
    reason: fc.constantFrom(null, "provider", "timeout"),
    count: fc.constantFrom(1, 1, 3),
  }),
  { maxLength: 1_200, size: "max" },
);
const total = (some: readonly PostedLeg[], what: "count" | "ms") => some.reduce((sum, one) => sum + one[what], 0);

test("few legs are kept as they are", () => {
  const some = [
    leg({}),
    leg({ vendor: "other", ok: false, reason: "provider", upstreamNano: nano(7) }),
    leg({ count: 9 }),
  ];
  expect(compactLegs(some)).toBe(some);
  expect(legsIn(legsText(some))).toEqual(some);
  expect(legsText([])).toBeNull();
  expect(legsIn(null)).toEqual([]);
});

test("an ordinary leg is four values", () => {
  expect(legsText([leg({ ms: 812.4 })])).toBe('[["vendor","maker/model",7,812]]');
});

describe("beyond the bounds", () => {
  test("legs of one vendor, model and outcome are one, in the order in which they first came", () => {
    const some = Array.from({ length: LEGS_MAX + 1 }, (_, at) =>
      leg({
        vendor: `v${at % 2}`,
        ok: at % 3 > 0,
        reason: at % 3 > 0 ? null : "timeout",
        ms: 1,
        upstreamNano: nano(at),
      }),
    );
    const kept = compactLegs(some);
    expect(kept.map(({ vendor, ok, count }) => [vendor, ok, count])).toEqual([
      ...[
        ["v0", false, 86],
        ["v1", true, 171],
        ["v0", true, 171],
        ["v1", false, 85],
      ],
    ]);
    expect(legsCost(kept)).toBe((LEGS_MAX * (LEGS_MAX + 1)) / 2);
    expect(compactLegs(kept)).toBe(kept);
  });

  test("legs of too many models are summed over models, of too many vendors over vendors", () => {
    const models = Array.from({ length: 600 }, (_, at) => leg({ model: `maker/${at}`, ok: at > 0 }));
    expect(compactLegs(models).map(({ vendor, model, ok, count }) => [vendor, model, ok, count])).toEqual([
      ["vendor", "*", false, 1],
      ["vendor", "*", true, 599],
    ]);
    const vendors = models.map((one, at) => ({ ...one, vendor: `v${at}` }));
    expect(compactLegs(vendors).map(({ vendor, model, count }) => [vendor, model, count])).toEqual([
      ["*", "*", 1],
      ["*", "*", 599],
    ]);
  });

  test("whatever they are, they fit, and cost, number and time stay the same", () => {
    fc.assert(
      fc.property(legs, (some) => {
        const kept = legsIn(legsText(some));
        expect(kept.length).toBeLessThanOrEqual(LEGS_MAX);
        expect(Buffer.byteLength(legsText(some) ?? "")).toBeLessThanOrEqual(LEGS_BYTES_MAX);
        expect([legsCost(kept), total(kept, "count"), total(kept, "ms")]).toEqual([
          ...[legsCost(some), total(some, "count"), total(some, "ms")],
        ]);
        expect(legsText(kept)).toBe(legsText(some));
      }),
      { numRuns: 60 },
    );
  });
});

test("legs that do not add up to what their posting cost us are named", () => {
  const posting = { transactionId: "tx_1", upstreamNano: nano(9), legs: [leg({}), leg({ upstreamNano: nano(2) })] };
  expect(legsFault(posting)).toBeNull();
  expect(legsFault({ ...posting, upstreamNano: nano(8) })).toBe("tx_1 cost us 8, its legs add up to 9");
  expect(legsFault({ ...posting, upstreamNano: nano(8), legs: [] })).toBeNull();
});
