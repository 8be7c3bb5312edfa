// The sums that every doctor compares with its store, and what it says of postings that do not fit together.
import { expect, test } from "vitest";
import { nano } from "../../../../src/core/money.ts";
import type { NumberedPosting } from "../../../../src/money/ledger/archive/archive.ts";
import { PostingSums, PostingWalk } from "../../../../src/money/ledger/model/posting-sums.ts";
import { posting } from "../archive/contract.ts";
import { legOf } from "../requests.ts";
import { START_MS } from "../store.ts";

const nameOf = (scope: string, day: number) => `${scope} ${day}`;

test("charges add up by scope and day, cost above the charge beside them, and credit by itself", () => {
  const all = Array.from({ length: 8 }, (_, at) => posting("sums", at + 1, { windows: "=group:7;-unpaid" }));
  const sums = new PostingSums(nameOf);
  for (const one of all) sums.add(one, one.number >= 5);
  const sum = (pick: (one: NumberedPosting) => number, which = (_: NumberedPosting) => true) =>
    all
      .slice(1)
      .filter(which)
      .reduce((total, one) => total + pick(one), 0);
  expect(sums).toMatchObject({
    ...{ count: 8, credited: 1_000_000, charged: sum(({ amountNano }) => amountNano) },
    ...{ cents: sum(({ chargedCents }) => chargedCents), absorbed: sum(({ absorbedNano }) => absorbedNano) },
  });
  for (const day of new Set(all.slice(1).map((one) => one.day ?? 0))) {
    const ofDay = (one: NumberedPosting) => one.day === day;
    expect(sums.days.get(`group:7 ${day}`)).toMatchObject({
      spent: sum(({ amountNano }) => amountNano, ofDay),
      absorbed: sum(
        ({ absorbedNano }) => absorbedNano,
        (one) => ofDay(one) && one.number >= 5,
      ),
      isCost: false,
    });
    const unpaid = sum(({ amountNano, upstreamNano }) => Math.max(0, upstreamNano - amountNano), ofDay);
    expect(sums.days.get(`unpaid ${day}`)?.spent).toBe(unpaid || undefined);
  }
});

test("postings out of order, refunds of nothing or of another amount, and legs that do not add up are named", () => {
  const odd = [
    posting("odd", 1),
    posting("odd", 2),
    posting("odd", 3, { createdAtMs: START_MS }),
    posting("odd", 4, { kind: "refund", reference: "odd.2", amountNano: nano(1) }),
    posting("odd", 5, { kind: "refund", reference: "odd.9" }),
    posting("odd", 6, { legs: [legOf({})] }),
  ];
  const said: string[] = [];
  const walk = new PostingWalk(nameOf, START_MS + 6, (invariant, detail) => said.push(`${invariant} ${detail}`));
  for (const one of odd.toReversed()) walk.take(one);
  const { credited: granted, charged: spent, absorbed } = walk;
  walk.end({ granted, spent, absorbed }, [], (name) => walk.days.get(name) ?? null);
  expect(said.filter((one) => !one.startsWith("I7")).sort()).toEqual([
    `I12 odd.2 is of ${START_MS + 2}, later than what came after it`,
    "I13 odd.6 cost us 3, its legs add up to 7",
    "I9 1 was refunded for odd.2, which charged 2",
    "I9 odd.9 was refunded and never charged",
  ]);
});
