// Every kind of page is extracted well: the main content is included, its surroundings are not, and walls and shells are recognized.
import { describe, expect, it } from "vitest";
import { BY_HAND } from "./by-hand.ts";
import { corpus } from "./corpus.ts";
import { isFlagged, readByUs } from "./our-reading.ts";
import { scoresOf, scoreTable } from "./score.ts";

/** The printed set of pages, and another of the same kinds that no rule was tuned to. */
const SETS = [0, 7];

describe.each(SETS)("the corpus, set %i", (salt) => {
  const pages = corpus(salt);
  const scores = scoresOf(pages, readByUs);
  console.log(`set ${salt}\n${scoreTable(scores)}`);

  it("has 400 pages of twenty kinds, no two alike", () => {
    expect(scores.length).toBe(20);
    expect(new Set(pages.map(({ html }) => html)).size).toBe(400);
  });

  it.each<[kind: string, of: string, count: number, mark: RegExp]>([
    ["skeleton", "frameworks", 6, /id="(?:root|__next|__nuxt|app|svelte)"|<app-root>/],
    [
      "captcha",
      "makers of walls",
      8,
      /cf-chl-widget|px-captcha|captcha-delivery|_Incapsula_|gokuProps|sec-if-cpt|kpsdk|g-recaptcha/,
    ],
    ["language", "languages", 20, /<html[^>]* lang="[a-z]+"/],
  ])("has pages of kind %s of all its %s: %i", (kind, _, count, mark) => {
    const marks = pages.flatMap((page) => (page.kind === kind ? [mark.exec(page.html)?.[0] ?? page.name] : []));
    expect(new Set(marks).size).toBe(count);
  });

  it.each(["content", "wall", "shell"] as const)(
    "at most 2 % of the pages that are %s are taken for something else",
    (is) => {
      const of = pages.filter((page) => page.is === is);
      const wrong = of.filter((page) => readByUs(page).is !== is).map(({ name }) => name);
      expect(wrong.length, wrong.join(", ")).toBeLessThanOrEqual(of.length * 0.02);
    },
  );

  it("the beginning of what readers pay for is flagged, and nothing else", () => {
    const flagged = pages.filter((page) => isFlagged(page, "paywall"));
    const due = pages.filter(({ kind }) => kind === "paywall");
    expect(flagged.map(({ name }) => name)).toEqual(due.map(({ name }) => name));
  });

  it.each(scores.filter(({ recall }) => recall !== null))(
    "$kind: what readers came for is there",
    ({ recall, faults }) => {
      expect(recall, faults.join("\n")).toBeGreaterThanOrEqual(0.98);
    },
  );

  it.each(scores.filter(({ kept }) => kept !== null))("$kind: what stands around is left out", ({ kept, faults }) => {
    expect(kept, faults.join("\n")).toBeLessThanOrEqual(0.05);
  });

  it.each(scores.filter(({ exact }) => exact !== null))(
    "$kind: headings, code, tables, lists and addresses stand as they were",
    ({ exact, faults }) => {
      expect(exact, faults.join("\n")).toBeGreaterThanOrEqual(0.98);
    },
  );
});

describe("the pages that were written by hand", () => {
  const [score] = scoresOf(BY_HAND, readByUs);
  console.log(scoreTable(score === undefined ? [] : [score]));

  it("are each taken for what they are", () => {
    expect(BY_HAND.length).toBeGreaterThanOrEqual(38);
    expect(score?.misjudged, score?.faults.join("\n")).toBe(0);
  });

  it("have what readers came for, as it stood, and little of what stands around", () => {
    const { recall, kept, exact, faults } = score ?? { faults: [] };
    expect(recall, faults.join("\n")).toBeGreaterThanOrEqual(0.98);
    expect(kept, faults.join("\n")).toBeLessThanOrEqual(0.05);
    expect(exact, faults.join("\n")).toBeGreaterThanOrEqual(0.98);
  });
});
