// Finds the part of a page that its readers have come for: where the page says it, else where the library finds its text.
import { Readability } from "@mozilla/readability";
import { isData } from "./markdown-tables.ts";
import { bodyOf, ELEMENTS_MAX, measured, type PageDocument, type PageElement, type PageNode } from "./page-dom.ts";

/** What a page may call its main part, in order. */
const NAMED = ["main", "[role=main]", "article", "[itemprop=articleBody]", "#content", "#main"];
/** With less than this part of what is left of the page, it is not the main one. */
const NAMED_SHARE = 0.6;
const FOUND_SHARE = 0.6;
const MARK = "data-tollgate-mark";
const MARKED = "p,pre,li,td,dd,blockquote,h2,h3,figure";

type ReadabilityInput = ConstructorParameters<typeof Readability>[0];

/** Of a page without clutter: the main part is an element of it, as it stands there. */
export function mainPart(document: PageDocument): PageElement {
  const body = bodyOf(document);
  const chars = measured(body);
  const enough = (element: PageElement | null, share: number) =>
    element !== null && (chars.get(element) ?? 0) >= (chars.get(body) ?? 0) * share;
  for (const selector of NAMED) {
    const [only, another] = body.querySelectorAll(selector);
    if (only !== undefined && another === undefined && enough(only, NAMED_SHARE)) return only;
  }
  const found = foundPart(document, body);
  return found !== null && enough(found, FOUND_SHARE) ? whole(found) : body;
}

/** The least element around all that the library takes for text: it rewrites what it keeps, so that it is asked for the place alone. */
function foundPart(document: PageDocument, body: PageElement): PageElement | null {
  const marked = [...body.querySelectorAll(MARKED)];
  for (const [at, element] of marked.entries()) element.setAttribute(MARK, String(at));
  const copy = document.cloneNode(true) as PageDocument;
  for (const element of marked) element.removeAttribute(MARK);
  const options = { maxElemsToParse: ELEMENTS_MAX, charThreshold: 250, serializer: (node: unknown) => node };
  const kept = new Readability(copy as unknown as ReadabilityInput, options).parse()?.content;
  if (kept == null) return null;
  const places = [...(kept as unknown as PageElement).querySelectorAll(`[${MARK}]`)].map(
    (one) => marked[Number(one.getAttribute(MARK))],
  );
  // The text begins at its heading, and what stands between the two belongs to it.
  return commonParent([...body.querySelectorAll("h1"), ...places].filter((one) => one !== undefined));
}

/** A row is no table, and items are no list: what is found within one stands for all of it. */
function whole(part: PageElement): PageElement {
  const table = part.closest("table");
  const outer = table !== null && isData(table) ? table : part.closest("ul,ol,dl,pre");
  return outer?.parentElement ?? part;
}

function commonParent(places: readonly PageElement[]): PageElement | null {
  const [first, ...others] = places;
  if (first === undefined) return null;
  let above: readonly PageNode[] = pathOf(first);
  for (const place of others) {
    const path = pathOf(place);
    const apart = above.findIndex((node, level) => node !== path[level]);
    if (apart >= 0) above = above.slice(0, apart);
  }
  return (above.at(-1) as PageElement | undefined) ?? null;
}

/** From the body down to what an element is in. */
function pathOf(element: PageElement): readonly PageNode[] {
  const path: PageNode[] = [];
  for (let at = element.parentElement; at !== null; at = at.parentElement) path.push(at);
  return path.reverse();
}
