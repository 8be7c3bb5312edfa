// Scores an extractor on the corpus: the shares of wanted and unwanted content that it returned, by kind.
import type { CorpusPage, PageClass } from "./draft.ts";

export interface Reading {
  readonly content: string;
  readonly is: PageClass;
}

export interface KindScore {
  readonly kind: string;
  readonly pages: number;
  /** Null if nothing was expected. */
  readonly recall: number | null;
  readonly kept: number | null;
  readonly exact: number | null;
  readonly misjudged: number;
  /** For display: what was lost or wrongly kept, with the page's name. */
  readonly faults: readonly string[];
}

/** The text without Markdown syntax, so that extractors can be compared. */
export function readableText(content: string): string {
  return content
    .replace(/\]\((?:[^()\n]|\([^()\n]*\))*\)/g, "]")
    .replace(/\\(?=[^\w\s])/g, "")
    .replace(/[*`#>|[\]_]+/g, " ")
    .replace(/^\s*(-{3,}|:?-+:?( :?-+:?)*)\s*$/gm, " ")
    .replace(/\s+([.,:;?)])/g, "$1")
    .replace(/\s+/g, " ");
}

const share = (part: number, whole: number) => (whole === 0 ? null : part / whole);

export function scoresOf(pages: readonly CorpusPage[], read: (page: CorpusPage) => Reading): readonly KindScore[] {
  return [...new Set(pages.map(({ kind }) => kind))].map((kind) =>
    scoreOf(
      kind,
      pages.filter((page) => page.kind === kind),
      read,
    ),
  );
}

function scoreOf(kind: string, pages: readonly CorpusPage[], read: (page: CorpusPage) => Reading): KindScore {
  const due = { must: 0, mustNot: 0, exact: 0 };
  const had = { must: 0, mustNot: 0, exact: 0 };
  let misjudged = 0;
  const faults: string[] = [];
  for (const page of pages) {
    const { content, is } = read(page);
    if (is !== page.is) {
      misjudged += 1;
      faults.push(`${page.name}: ${page.is} was taken for ${is}`);
    }
    if (page.is !== "content") continue;
    const text = readableText(content);
    const inText = (sentence: string) => text.includes(readableText(sentence).trim());
    const lost = page.must.filter((one) => !inText(one));
    const kept = page.mustNot.filter(inText);
    const changed = page.exact.filter((one) => !content.includes(one));
    due.must += page.must.length;
    due.mustNot += page.mustNot.length;
    due.exact += page.exact.length;
    had.must += page.must.length - lost.length;
    had.mustNot += kept.length;
    had.exact += page.exact.length - changed.length;
    faults.push(
      ...lost.map((one) => `${page.name} lost: ${one}`),
      ...kept.map((one) => `${page.name} kept: ${one}`),
      ...changed.map((one) => `${page.name} changed: ${one}`),
    );
  }
  return {
    kind,
    pages: pages.length,
    recall: share(had.must, due.must),
    kept: share(had.mustNot, due.mustNot),
    exact: share(had.exact, due.exact),
    misjudged,
    faults,
  };
}

const percent = (part: number | null) => (part === null ? "-" : `${(part * 100).toFixed(1)} %`);

export function scoreTable(scores: readonly KindScore[]): string {
  const rows = scores.map(
    ({ kind, recall, kept, exact, misjudged }) =>
      `| ${[kind, percent(recall), percent(kept), percent(exact), misjudged].join(" | ")} |`,
  );
  return ["| kind | recall | boilerplate kept | structure | misjudged |", "|---|---|---|---|---|", ...rows].join("\n");
}
