import fc from "fast-check";
import { expect, test } from "vitest";
import type { CeilingPeriod } from "../../../../src/core/account-rows.ts";
import { chargedCents, type Nano } from "../../../../src/core/money.ts";
import { dayOf, periodEnd, periodStart } from "../../../../src/money/ledger/model/windows.ts";

const DAY_MS = 86_400_000;

/** The first day of a period and of the next one, by the calendar of Date. */
function byDate(period: CeilingPeriod, day: number): [number, number] {
  const date = new Date(day * DAY_MS);
  const [year, month, dayOfMonth] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  if (period === "day") return [day, day + 1];
  if (period === "month") return [Date.UTC(year, month, 1) / DAY_MS, Date.UTC(year, month + 1, 1) / DAY_MS];
  const monday = Date.UTC(year, month, dayOfMonth - ((date.getUTCDay() + 6) % 7)) / DAY_MS;
  return [monday, monday + 7];
}

test("days, weeks and months are those of Date, for every day from 1970 to 2200", () => {
  const last = Date.UTC(2200, 11, 31) / DAY_MS;
  let wrong = 0;
  for (let day = 0; day <= last; day++) {
    for (const period of ["day", "week", "month"] as const) {
      const [first, next] = byDate(period, day);
      if (periodStart(period, day) !== first || periodEnd(period, day) !== next) wrong += 1;
    }
  }
  expect(wrong).toBe(0);
});

test("a millisecond before midnight is the old day, midnight the new one", () => {
  for (const midnight of [Date.UTC(2026, 0, 1), Date.UTC(2028, 1, 29), Date.UTC(2100, 2, 1)]) {
    expect([dayOf(midnight - 1), dayOf(midnight), dayOf(midnight + 1)]).toEqual(
      [midnight - DAY_MS, midnight, midnight].map((ms) => ms / DAY_MS),
    );
  }
});

test("cents of any postings in any order add up to the cents of their sum", () => {
  const amounts = fc.array(fc.oneof(fc.nat({ max: 3 * 10_000_000 }), fc.nat({ max: 5 })), { maxLength: 60 });
  fc.assert(
    fc.property(amounts, (postings) => {
      let spent = 0;
      let cents = 0;
      for (const amount of postings) {
        const added = chargedCents(spent as Nano, amount as Nano);
        expect(added).toBeGreaterThanOrEqual(0);
        expect(Math.abs(added - amount / 10_000_000)).toBeLessThan(1);
        cents += added;
        spent += amount;
      }
      expect(cents).toBe(Number((BigInt(spent) + 9_999_999n) / 10_000_000n));
    }),
  );
});
