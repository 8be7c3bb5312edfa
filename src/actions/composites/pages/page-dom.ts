// Parses untrusted HTML into a tree, within bounds, and offers the page readers what they need of the DOM.
import { nextIn, PageElement, type PageLeaf, type PageNode, parsed, TEXT } from "./page-tree.ts";

/** Longer pages are not parsed. */
export const PAGE_CHARS_MAX = 3 * 1_048_576;
/** The time to parse grows with the number of elements. */
export const ELEMENTS_MAX = 50_000;
const DEPTH_MAX = 400;
/** The part of a tag that is examined. */
const TAG_CHARS_MAX = 2_048;

const TAG = /^<(\/?)([a-z][a-z0-9-]*)/i;
const VOID = /^(area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr|p|li|td|tr|th|option|dt|dd)$/i;

/** Whitespace other than single spaces. Most text has only those, and stays as it is. */
const BLANKS = /[^\S ]\s*| \s+/g;

export function textOf(node: PageNode | null): string {
  return (node?.textContent ?? "").replace(BLANKS, " ").trim();
}

/** The length of `textOf`, counted without building the text. Stops at `enough`. */
export function charsOf(root: PageElement, enough = Number.POSITIVE_INFINITY): number {
  let chars = 0;
  let isApart = false;
  for (let node = root.firstChild; node !== null && chars < enough; node = nextIn(root, node)) {
    if (node.nodeType !== TEXT) continue;
    const text = (node as PageLeaf).data.replace(BLANKS, " ");
    const words = text.trim();
    if (words === "") isApart ||= text !== "";
    else {
      if (chars > 0 && (isApart || text.startsWith(" "))) chars += 1;
      chars += words.length;
      isApart = text.endsWith(" ");
    }
  }
  return chars;
}

/** All tags, each from its `<` to the next `>`. Linear, whatever is left open. */
export function tagsOf(html: string): readonly string[] {
  const tags: string[] = [];
  for (let at = html.indexOf("<"); at >= 0; ) {
    const end = html.indexOf(">", at + 1);
    if (end < 0) break;
    tags.push(html.slice(at, Math.min(end + 1, at + TAG_CHARS_MAX)));
    at = html.indexOf("<", end + 1);
  }
  return tags;
}

/** Whether a page is within the bounds of the parser, whose work grows with the square of the nesting. */
function isTakable(tags: readonly string[]): boolean {
  let depth = 0;
  let elements = 0;
  for (const tag of tags) {
    const [, closes, name = ""] = TAG.exec(tag) ?? [];
    if (closes === undefined) continue;
    if (closes === "/") depth = Math.max(0, depth - 1);
    else if (!tag.endsWith("/>") && !VOID.test(name)) depth += 1;
    if (closes === "") elements += 1;
    if (depth > DEPTH_MAX || elements > ELEMENTS_MAX) return false;
  }
  return true;
}

/** Throws where the page is too long, has too many elements, or nests them too deep. */
export function documentOf(html: string, tags: readonly string[]): PageElement {
  if (html.length > PAGE_CHARS_MAX || !isTakable(tags))
    throw new RangeError("the page has too many elements, or nests them too deep");
  return parsed(wholePage(html));
}

/** Adds the `html` and `body` tags that old pages omit. */
function wholePage(html: string): string {
  if (/<html[\s>]/i.test(html)) return html;
  return /<body[\s>]/i.test(html) ? `<html>${html}</html>` : `<html><body>${html}</body></html>`;
}

export function bodyOf(document: PageElement): PageElement {
  return document.querySelector("body") ?? document.querySelector("html") ?? document;
}

/** Visits the elements below `root` in document order; skips what is below an element where `enter` returns false. */
export function walkElements(root: PageElement, enter: (element: PageElement) => boolean): void {
  const open = root.children.reverse();
  for (let element = open.pop(); element !== undefined; element = open.pop()) {
    if (!enter(element)) continue;
    for (let node = element.lastChild; node !== null; node = node.previousSibling)
      if (node instanceof PageElement) open.push(node);
  }
}

/** Whether an element is within one with one of these names, a few levels up. */
export function standsIn(element: PageElement, names: ReadonlySet<string>, levels = 5): boolean {
  let at = element.parentElement;
  for (let level = 0; at !== null && level < levels; level++, at = at.parentElement) {
    if (names.has(at.localName)) return true;
  }
  return false;
}

/** The text characters of each element, without those of elements named in `left`. One walk: asking each would be quadratic in depth. */
export function measured(body: PageElement, left: ReadonlySet<string> = new Set()): ReadonlyMap<PageElement, number> {
  const chars = new Map<PageElement, number>();
  const measure = (element: PageElement): number => {
    let sum = 0;
    for (let node = element.firstChild; node !== null; node = node.nextSibling) {
      if (node instanceof PageElement) sum += left.has(node.localName) ? 0 : measure(node);
      else if (node.nodeType === TEXT) sum += node.data.trim().length;
    }
    chars.set(element, sum);
    return sum;
  };
  measure(body);
  return chars;
}
