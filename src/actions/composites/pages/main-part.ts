// Finds the main part of a page: where the page marks it, else the smallest element with most of the prose.
import { isData } from "./markdown-tables.ts";
import { bodyOf, measured } from "./page-dom.ts";
import type { PageElement } from "./page-tree.ts";

/** Marks of a main part, in order of preference. */
const NAMED = ["main", "[role=main]", "article", "[itemprop=articleBody]", "#content", "#main"];
/** Shares of the remaining text that a marked or a found part must have. */
const NAMED_SHARE = 0.6;
const FOUND_SHARE = 0.6;
/** A child replaces its parent where it has this share of the prose: the rest is beside the text. */
const PROSE_SHARE = 0.75;
/** Their text is not prose, however long. */
const NO_PROSE = new Set(["a", "label", "option"]);
/** Elements that may be a main part; others are parts of a text, such as one long paragraph. */
const BOX = /^(?:body|main|article|section|div|center|form|table|ul|ol|dl)$|-/;
const HEADINGS_MAX = 20;

/** The main part of a page without clutter, as an element of the page. */
export function mainPart(document: PageElement): PageElement {
  const body = bodyOf(document);
  const chars = measured(body);
  const enough = (element: PageElement | null, share: number) =>
    element !== null && (chars.get(element) ?? 0) >= (chars.get(body) ?? 0) * share;
  for (const selector of NAMED) {
    const [only, another] = body.querySelectorAll(selector);
    if (only !== undefined && another === undefined && enough(only, NAMED_SHARE)) return only;
  }
  const found = foundPart(body);
  return enough(found, FOUND_SHARE) ? whole(found) : body;
}

function foundPart(body: PageElement): PageElement {
  const prose = measured(body, NO_PROSE);
  const proseOf = (element: PageElement) => prose.get(element) ?? 0;
  let part = body;
  for (let next: PageElement | undefined = body; next !== undefined; ) {
    part = next;
    const least = proseOf(part) * PROSE_SHARE;
    next = least === 0 ? undefined : [...part.children].find((child) => proseOf(child) >= least);
  }
  while (part !== body && part.parentElement !== null && !BOX.test(part.localName)) part = part.parentElement;
  // Widen the part to include its heading, and everything between the two.
  for (const heading of [...body.querySelectorAll("h1")].slice(0, HEADINGS_MAX)) {
    while (part !== body && part.parentElement !== null && !part.contains(heading)) part = part.parentElement;
  }
  return part;
}

/** Widens a part of a table or list to the element around the whole table or list. */
function whole(part: PageElement): PageElement {
  const table = part.closest("table");
  const outer = table !== null && isData(table) ? table : part.closest("ul,ol,dl,pre");
  return outer?.parentElement ?? part;
}
