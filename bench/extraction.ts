// How much of the corpus' pages we and others extract: a table by kind. Others are installed into bench/.peers, and skipped by name where
// that fails.
import { Readability } from "@mozilla/readability";
import { parseHTML } from "linkedom";
import TurndownService from "turndown";
import { BY_HAND } from "../test/corpus/by-hand.ts";
import { corpus } from "../test/corpus/corpus.ts";
import type { CorpusPage } from "../test/corpus/draft.ts";
import { readByUs } from "../test/corpus/our-reading.ts";
import { type KindScore, scoresOf } from "../test/corpus/score.ts";
import { openDefuddle } from "./peers/defuddle.ts";
import { readInPython } from "./peers/python-readers.ts";
import { Unavailable } from "./subjects.ts";

type Reader = (pages: readonly CorpusPage[]) => Promise<readonly string[]>;

type ReadabilityInput = ConstructorParameters<typeof Readability>[0];

const turndown = new TurndownService({ headingStyle: "atx", codeBlockStyle: "fenced", bulletListMarker: "-" });

async function byReadability(pages: readonly CorpusPage[]): Promise<readonly string[]> {
  return pages.map(({ html }) => {
    const content = new Readability(parseHTML(html).document as unknown as ReadabilityInput).parse()?.content;
    return content == null ? "" : turndown.turndown(parseHTML(`<html><body>${content}</body></html>`).document.body);
  });
}

async function byDefuddle(pages: readonly CorpusPage[]): Promise<readonly string[]> {
  const read = await openDefuddle();
  const texts: string[] = [];
  for (const { html, url } of pages) texts.push(await read(html, url));
  return texts;
}

const READERS: Readonly<Record<string, Reader>> = {
  tollgate: async (pages) => pages.map((page) => readByUs(page).content),
  defuddle: byDefuddle,
  readability: byReadability,
  trafilatura: async (pages) => readInPython("trafilatura", pages),
  html2text: async (pages) => readInPython("html2text", pages),
};

const percent = (share: number | null | undefined) => (share == null ? "-" : (share * 100).toFixed(0));

/** Content found / boilerplate kept / kept exactly, each in percent. */
const cellOf = (score: KindScore | undefined) => [score?.recall, score?.kept, score?.exact].map(percent).join(" / ");

const pages = [...corpus(), ...BY_HAND].filter(({ is }) => is === "content");
const columns = new Map<string, readonly KindScore[]>();
for (const [name, read] of Object.entries(READERS)) {
  try {
    const texts = await read(pages);
    const of = new Map(pages.map((page, at) => [page, texts[at] ?? ""]));
    columns.set(
      name,
      scoresOf(pages, (page) => ({ content: of.get(page) ?? "", is: page.is })),
    );
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    console.log(`${name} is left out: ${error.message}`);
  }
}

console.log(`| kind | ${[...columns.keys()].join(" | ")} |\n|---|${"---|".repeat(columns.size)}`);
for (const kind of new Set(pages.map((page) => page.kind))) {
  const cells = [...columns.values()].map((scores) => cellOf(scores.find((score) => score.kind === kind)));
  console.log(`| ${kind} | ${cells.join(" | ")} |`);
}
