// Money computations of pages and reports: exact beyond the range of a number, and below zero.
import { expect, test } from "vitest";
import { centsOf, daysLasting, lessOf, nanoFromCents, parseUsd, sumOf, usdTextOfSum } from "../../src/core/money.ts";

test("sums are exact where doubles are not", () => {
  expect(sumOf(["9007199254740993", 1, "-3"])).toBe("9007199254740991");
  expect(sumOf([])).toBe("0");
});

test("a difference may be a loss", () => {
  expect(lessOf(3, "9007199254740996")).toBe("-9007199254740993");
  expect(lessOf("7", 5)).toBe("2");
});

test.each([
  [-5, "-0.000000005"],
  ["-1500000000", "-1.5"],
  [-2_000_000_000, "-2"],
  ["9007199254740993", "9007199.254740993"],
  [0, "0"],
])("%s nano-USD are %s USD", (nano, text) => {
  expect(usdTextOfSum(nano)).toBe(text);
});

test("a balance lasts for whole days at the pace of what some days have taken", () => {
  expect(daysLasting(100, 30, 7)).toBe(23);
  expect(daysLasting(1, 30, 7)).toBe(0);
  expect(daysLasting(100, 0, 7)).toBeNull();
});

test.each(["0.29", "12.5", "0.000000001", "1.005"])("%s dollars are as much by way of cents", (typed) => {
  const amount = parseUsd(typed);
  expect(amount).not.toBeNull();
  expect(nanoFromCents(centsOf(amount ?? nanoFromCents(0)))).toBe(amount);
});
