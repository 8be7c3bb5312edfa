// The age of every reference for our wires and prices: printed, and a failure above 45 days for those that can be renewed.
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ENDS_LIST, FACTS_LIST, PRICE_LIST } from "../support/price-list.ts";

const DAYS_MAX = 45;
const DAY_MS = 86_400_000;
/** CI reports old references; `CATALOG_DAY` simulates another day. */
const TODAY = process.env.CATALOG_DAY ?? new Date().toISOString().slice(0, 10);

/** The day on which package.json had the newest release of every SDK. */
const SDKS_TAKEN = "2026-11-26";

const SPECIFICATIONS = new URL("../fixtures/vendor-requests/", import.meta.url);

function age(day: string): number {
  return Math.round((Date.parse(TODAY) - Date.parse(day)) / DAY_MS);
}

it.each([
  ["vendors' SDKs", SDKS_TAKEN],
  [PRICE_LIST.source, PRICE_LIST.taken],
  [ENDS_LIST.source, ENDS_LIST.taken],
  [FACTS_LIST.source.join(" and "), FACTS_LIST.taken],
])("%s are of the last 45 days", (name, taken) => {
  console.log(`${name}: ${age(taken)} days old`);
  expect(age(taken), `${name} were taken ${age(taken)} days ago: take newer ones`).toBeLessThanOrEqual(DAYS_MAX);
});

it("vendors' specifications say when they were published", () => {
  const files = readdirSync(SPECIFICATIONS);
  const ages = files.map((file) => {
    const { date } = JSON.parse(readFileSync(new URL(file, SPECIFICATIONS), "utf8")) as { readonly date: string };
    return [file.replace(".json", ""), age(date)] as const;
  });
  // A vendor publishes one at will: old ones are only printed, since there may be nothing newer.
  for (const [vendor, days] of ages) console.log(`the specification of ${vendor}: ${days} days old`);
  expect(ages.every(([, days]) => Number.isFinite(days))).toBe(true);
});
