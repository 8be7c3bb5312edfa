// The yield check on pages whose class is known.
import { describe, expect, it } from "vitest";
import { extractPage } from "../../../src/actions/composites/pages/extract-page.ts";
import { ENOUGH, yieldOf } from "../../../src/actions/composites/pages/yield.ts";
import { FILLED, LABELLED, type LabelledPage, MENTIONS, SKELETONS, UNSEEN, WORDY_WALLS } from "./labelled-pages.ts";

const whole = { visibleChars: 10, scripted: false, walled: false };

/** As read by our own fetcher, or by a vendor that returns Markdown without a status. */
function yieldFor({ html, status }: LabelledPage, by: "fetch" | "vendor") {
  const order = { url: "https://example.com/", format: "markdown", mainContent: true } as const;
  const { content, title, facts } = extractPage({ html, ...order });
  return by === "fetch"
    ? yieldOf({ content, title, facts, status })
    : yieldOf({ content, title, facts: null, status: null });
}

const named = (pages: readonly LabelledPage[]) => pages.map(({ name }) => name);

describe("the yield of a page", () => {
  it.each<[string, readonly LabelledPage[]]>([
    ["skeletons that scripts are to fill are shells", SKELETONS],
    ["short pages that their servers have filled are pages", FILLED],
    ["short pages that mention a wall are pages", MENTIONS],
    ["walls of many words are walls", WORDY_WALLS],
    ["what the rules had not seen is told as well", UNSEEN],
  ])("of which %s", (_, pages) => {
    const wrong = pages.filter((page) =>
      page.isPage ? yieldFor(page, "fetch").score < ENOUGH : yieldFor(page, "fetch").score > 0,
    );
    expect(named(wrong)).toEqual([]);
  });

  it("is never a wall's where a vendor's Markdown mentions one, and never a page's where it is one", () => {
    const wrong = [...MENTIONS, ...WORDY_WALLS].filter(
      (page) => (yieldFor(page, "vendor").instead === "wall") === page.isPage,
    );
    expect(named(wrong)).toEqual([]);
  });

  it("says what stands there instead of a page", () => {
    const of = (pages: readonly LabelledPage[]) => new Set(pages.map((page) => yieldFor(page, "fetch").instead));
    expect([of(SKELETONS), of(WORDY_WALLS), of(FILLED)]).toEqual([
      new Set(["shell"]),
      new Set(["wall"]),
      new Set([undefined]),
    ]);
    expect(yieldOf({ content: "", title: null, facts: null, status: null }).instead).toBe("nothing");
    expect(yieldOf({ content: "Gone", title: null, facts: null, status: 410 }).instead).toBe("error_status");
    expect(yieldOf({ content: "long ".repeat(5_000), title: null, facts: null, status: 500 }).instead).toBe(
      "error_status",
    );
  });

  it.each([403, 429, 503])("is a wall's by its words and marks, and only then an error's, with status %i", (status) => {
    const walls = WORDY_WALLS.filter((page) => !page.isPage);
    expect(new Set(walls.map((page) => yieldFor({ ...page, status }, "fetch").instead))).toEqual(new Set(["wall"]));
    const empty = { content: "", title: null, status };
    expect(yieldOf({ ...empty, facts: { ...whole, walled: true } }).instead).toBe("wall");
    expect(yieldOf({ ...empty, facts: null }).instead).toBe("error_status");
    const errors = FILLED.map((page) => yieldFor({ ...page, status }, "fetch").instead);
    expect(new Set(errors)).toEqual(new Set(["error_status"]));
  });

  it("tells walls and shells from pages, in at most two of a hundred wrongly", () => {
    const wrong = LABELLED.filter((page) => {
      const { score } = yieldFor(page, "fetch");
      return page.isPage ? score < ENOUGH : score > 0;
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
    // Readable content may follow it.
    expect(of(`${drawn} ${"Open at 9. ".repeat(200)}`)).toEqual({ score: 1, flags: [] });
  });

  it("takes a short page that came whole, and flags one of which nobody knows that", () => {
    const page = { content: "Open at 9.", title: null, status: 200 };
    expect(yieldOf({ ...page, facts: whole })).toEqual({ score: ENOUGH, flags: [] });
    expect(yieldOf({ ...page, facts: null })).toEqual({ score: 0.01, flags: ["thin_content"] });
    expect(yieldOf({ ...page, facts: { ...whole, scripted: true } })).toEqual({
      score: 0,
      flags: ["blocked"],
      instead: "shell",
    });
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
