import { describe, expect, it } from "vitest";
import { comparison, measuredIn } from "../../../src/edge/web/catalog-models.ts";
import { type DayFigures, noSums } from "../../../src/platform/observe/figures.ts";
import { shippedCatalog } from "../../support/shipped-catalog.ts";

const [FAST, SLOW] = ["openai/gpt-5.4-mini", "openai/gpt-5.4"];
const sums = (more: object) => ({ ...noSums(), calls: 10, ...more });
const fast = sums({ failed: 1, tokens: 900, tokensMs: 3_000, first: [0, 9] });
const slow = sums({ tokens: 100, tokensMs: 1_000, first: [0, 0, 0, 0, 0, 10] });
const DAY: DayFigures = {
  day: "2026-11-29",
  hours: new Map(),
  routes: new Map([
    [`${FAST} openai`, fast],
    [`${FAST} *`, fast],
    [`${SLOW} openai`, slow],
    [`${SLOW} azure`, slow],
  ]),
};

async function shown(query: string): Promise<{ readonly text: string; readonly slugs: readonly string[] }> {
  const { text } = comparison(new URLSearchParams(query), await shippedCatalog(), measuredIn([DAY]));
  return { text, slugs: [...text.matchAll(/href="\/catalog\/models\/([^"]+)"/g)].map(([, slug = ""]) => slug) };
}

describe("the comparison of models", () => {
  it("shows what was measured of each: first token, tokens a second, and the share of attempts that were answered", async () => {
    const { text } = await shown(`q=${FAST}`);
    expect(text).toMatch(/35 ms<.*>300<.*>90 %</s);
    expect((await shown(`q=${SLOW}&sort=calls`)).text).toMatch(/175 ms<.*>100<.*>100 %</s);
  });

  it("sorts by speed and price, and filters by name, context, price and what a model takes", async () => {
    expect((await shown("sort=first")).slugs.slice(0, 2)).toEqual([FAST, SLOW]);
    expect((await shown("sort=speed")).slugs[0]).toBe(FAST);
    const all = (await shown("")).slugs;
    for (const query of ["q=gpt", "context=1000000", "price=0.1", "takes=image"]) {
      const { slugs } = await shown(query);
      expect(slugs.length, query).toBeGreaterThan(0);
      expect(slugs.length, query).toBeLessThan(all.length);
      expect(all, query).toEqual(expect.arrayContaining([...slugs]));
    }
    expect((await shown("q=nothing-is-called-so")).text).toContain("Change a filter");
    expect((await shown("context=x&price=x&sort=toString")).slugs).toEqual(all);
  });

  it("shows a repeated column once", async () => {
    const once = await shown("column=calls");
    expect(await shown("column=calls&".repeat(50))).toEqual(once);
  });
});
