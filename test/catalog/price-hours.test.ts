// Prices by the hour: a call is charged at the price of the minute in which it was admitted; its hold uses the highest price of the period.
import { describe, expect, it } from "vitest";
import type { TokenPriceSpec } from "../../src/catalog/adapter.ts";
import { compilePrice, costlierBy, dearest, dearestWithin, isDearer, priceAt } from "../../src/catalog/price.ts";
import { catalogOf, LIVE, priced, vendor } from "./catalog-of.ts";

const spec: TokenPriceSpec = {
  since: "2026-09-23",
  input: "1",
  output: "2",
  hours: [
    { from: "01:00", until: "04:00", weekdaysOnly: true, input: "2", output: "4" },
    { from: "22:00", until: "24:00", input: "3", output: "1" },
  ],
};
const price = compilePrice(spec, "m");
const at = (text: string) => Date.parse(`${text}Z`);
/** A Monday and a Saturday. */
const [MON, SAT] = ["2026-11-23", "2026-11-21"];
const inputAt = (text: string) => priceAt(price, at(text)).input;

describe("a price with hours", () => {
  it("is that of its minute, in UTC", () => {
    expect(inputAt(`${MON}T00:59:59.999`)).toBe(1_000_000);
    expect(inputAt(`${MON}T01:00:00`)).toBe(2_000_000);
    expect(inputAt(`${MON}T03:59:59.999`)).toBe(2_000_000);
    expect(inputAt(`${MON}T04:00:00`)).toBe(1_000_000);
    expect(inputAt(`${MON}T23:59:59.999`)).toBe(3_000_000);
    expect(inputAt(`${SAT}T02:00:00`)).toBe(1_000_000);
    expect(inputAt(`${SAT}T22:30:00`)).toBe(3_000_000);
    expect(priceAt(price, at(`${MON}T02:00:00`)).version).toBe("m@2026-09-23:01:00-04:00");
    const flat = compilePrice({ ...spec, hours: [] }, "m");
    expect(priceAt(flat, 0)).toBe(flat);
  });

  it("is held at the dearest of a call's time, bucket by bucket", () => {
    const held = (from: string, minutes: number) => {
      const { input, output } = dearestWithin(price, at(from), at(from) + minutes * 60_000);
      return [input, output];
    };
    expect(held(`${MON}T00:49:00`, 10)).toEqual([1_000_000, 2_000_000]);
    expect(held(`${MON}T00:50:00`, 10)).toEqual([2_000_000, 4_000_000]);
    expect(held(`${MON}T03:59:00`, 10)).toEqual([2_000_000, 4_000_000]);
    expect(held(`${MON}T04:00:00`, 10)).toEqual([1_000_000, 2_000_000]);
    expect(held(`${MON}T23:55:00`, 90)).toEqual([3_000_000, 4_000_000]);
    expect(held(`2026-11-20T23:55:00`, 90)).toEqual([3_000_000, 2_000_000]);
    expect(held(`${MON}T05:00:00`, 24 * 60)).toEqual([3_000_000, 4_000_000]);
  });

  it("is never less than any price of the time", () => {
    for (let minute = 0; minute < 7 * 1_440; minute += 17) {
      const from = at(`${SAT}T00:00:00`) + minute * 60_000;
      const held = dearestWithin(price, from, from + 600_000);
      for (const later of [0, 599_999, 300_000]) {
        const now = priceAt(price, from + later);
        expect(held.input >= now.input && held.output >= now.output).toBe(true);
      }
    }
  });

  it("is marked up at every hour, and several sellers' dearest has none", () => {
    expect(priceAt(costlierBy(price, 10), at(`${MON}T02:00:00`))).toMatchObject({
      input: 2_200_000,
      output: 4_400_000,
    });
    expect(dearest([price, compilePrice({ since: "2026-01-01", input: "1", output: "1" }, "x")], "d")).toMatchObject({
      input: 3_000_000,
      output: 4_000_000,
      hours: [],
    });
  });

  it("is dearer than another where it is at any hour", () => {
    const flat = (input: string, output: string) => compilePrice({ since: "2026-01-01", input, output }, "f");
    expect(isDearer(price, flat("3", "4"))).toBe(false);
    expect(isDearer(price, flat("2.9", "4"))).toBe(true);
    expect(isDearer(flat("1", "1"), price)).toBe(false);
    expect(isDearer(flat("1", "1.1"), price)).toBe(true);
    expect(isDearer(price, price)).toBe(false);
  });

  it("is checked: hours of one day, in order, and none beside steps", () => {
    const lab = vendor({ m: priced("1", "2", { hours: spec.hours ?? [] }) }, { maker: "lab" });
    const sold = catalogOf({ adapters: { lab } }).model("lab/m", LIVE)?.sale;
    expect(sold?.hours.map(({ fromMinute, untilMinute }) => [fromMinute, untilMinute])).toEqual([
      [60, 240],
      [1_320, 1_440],
    ]);
  });
});
