// The yield check held against pages of which it is known what they are.
import { describe, expect, it } from "vitest";
import { extractPage } from "../../src/composites/pages/extract-page.ts";
import { ENOUGH, yieldOf } from "../../src/composites/pages/yield.ts";
import { LABELLED } from "./labelled-pages.ts";

const whole = { visibleChars: 10, scripted: false, walled: false };

describe("the yield of a page", () => {
  it("tells walls and shells from pages, in at most two of a hundred wrongly", () => {
    const wrong = LABELLED.filter(({ html, status, isPage }) => {
      const { content, title, facts } = extractPage({
        html,
        url: "https://example.com/",
        format: "markdown",
        mainContent: true,
      });
      const { score } = yieldOf({ content, title, facts, status });
      return isPage ? score < ENOUGH : score > 0;
    });
    expect(LABELLED.length).toBeGreaterThanOrEqual(280);
    expect(LABELLED.filter(({ isPage }) => isPage).length).toBeGreaterThan(LABELLED.length / 3);
    expect(wrong.length, wrong.map(({ name }) => name).join(", ")).toBeLessThanOrEqual(LABELLED.length * 0.02);
  });

  it("grows with what there is to read, up to a thousand characters", () => {
    const of = (chars: number) => yieldOf({ content: "a".repeat(chars), title: null, facts: null, status: null }).score;
    expect([of(0), of(100), of(500), of(1_000), of(5_000)]).toEqual([0, 0.1, 0.5, 1, 1]);
  });

  it("counts what a reader reads: no addresses of links, no marks", () => {
    const content = `# Tolls\n\n[a](https://example.com/${"x".repeat(2_000)})`;
    expect(yieldOf({ content, title: null, facts: null, status: 200 }).score).toBeLessThan(0.02);
  });

  it.each([3_000, 5_000, 17_000, 70_000, 500_000])("counts no address that is %i characters long either", (chars) => {
    const of = (content: string) => yieldOf({ content, title: null, facts: null, status: 200 });
    const drawn = `Open at 9. ![a picture](data:image/png;base64,${"x".repeat(chars)})`;
    expect(of(drawn)).toMatchObject({ score: 0.02, flags: ["thin_content"] });
    // What there is to read may come behind it.
    expect(of(`${drawn} ${"Open at 9. ".repeat(200)}`)).toEqual({ score: 1, flags: [] });
  });

  it("takes a short page that came whole, and flags one of which nobody knows that", () => {
    const page = { content: "Open at 9.", title: null, status: 200 };
    expect(yieldOf({ ...page, facts: whole })).toEqual({ score: ENOUGH, flags: [] });
    expect(yieldOf({ ...page, facts: null })).toEqual({ score: 0.01, flags: ["thin_content"] });
    expect(yieldOf({ ...page, facts: { ...whole, scripted: true } })).toEqual({ score: 0, flags: ["blocked"] });
    expect(yieldOf({ ...page, facts: { ...whole, visibleChars: 1_000 } })).toEqual({
      score: 0.01,
      flags: ["thin_content"],
    });
  });

  it("is nothing where the server says that it failed", () => {
    for (const status of [401, 403, 404, 429, 503]) {
      expect(yieldOf({ content: "a".repeat(2_000), title: null, facts: whole, status }).score).toBe(0);
    }
  });
});
