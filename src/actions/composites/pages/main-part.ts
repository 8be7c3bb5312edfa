// Finds the part of a page that its readers have come for: where the page says it, else the least element that has most of its prose.
import { isData } from "./markdown-tables.ts";
import { bodyOf, measured } from "./page-dom.ts";
import type { PageElement } from "./page-tree.ts";

/** What a page may call its main part, in order. */
const NAMED = ["main", "[role=main]", "article", "[itemprop=articleBody]", "#content", "#main"];
/** With less than this part of what is left of the page, it is not the main one. */
const NAMED_SHARE = 0.6;
const FOUND_SHARE = 0.6;
/** An element stands for the one around it where it has so much of its prose: the rest is beside the text. */
const PROSE_SHARE = 0.75;
/** Bars and lists of links are no prose, however long. */
const NO_PROSE = new Set(["a", "label", "option"]);
/** What pages and their parts are built of; all else is a part of a text, which may have one long one of it. */
const BOX = /^(?:body|main|article|section|div|center|form|table|ul|ol|dl)$|-/;
const HEADINGS_MAX = 20;

/** Of a page without clutter: the main part is an element of it, as it stands there. */
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
  // The text begins at its heading, and what stands between the two belongs to it.
  for (const heading of [...body.querySelectorAll("h1")].slice(0, HEADINGS_MAX)) {
    while (part !== body && part.parentElement !== null && !part.contains(heading)) part = part.parentElement;
  }
  return part;
}

/** A row is no table, and items are no list: what is found within one stands for all of it. */
function whole(part: PageElement): PageElement {
  const table = part.closest("table");
  const outer = table !== null && isData(table) ? table : part.closest("ul,ol,dl,pre");
  return outer?.parentElement ?? part;
}
