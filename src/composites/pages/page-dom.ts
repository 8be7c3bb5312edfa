// A stranger's HTML as a tree of elements, within bounds: what reads pages sees as much of the DOM as is written down here.
import { parseHTML } from "linkedom";

/** As much of the DOM as is used here; the types of a browser are no part of this program. */
export interface PageNode {
  readonly nodeType: number;
  readonly nodeName: string;
  textContent: string | null;
  readonly childNodes: ArrayLike<PageNode> & Iterable<PageNode>;
  readonly parentElement: PageElement | null;
  readonly previousSibling: PageNode | null;
}

export interface PageElement extends PageNode {
  innerHTML: string;
  /** Its name in small letters. */
  readonly localName: string;
  readonly children: ArrayLike<PageElement> & Iterable<PageElement>;
  readonly firstElementChild: PageElement | null;
  readonly ownerDocument: PageDocument;
  getAttribute(name: string): string | null;
  getAttributeNames(): string[];
  hasAttribute(name: string): boolean;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
  remove(): void;
  replaceWith(...nodes: (PageNode | string)[]): void;
  prepend(...nodes: (PageNode | string)[]): void;
  append(...nodes: (PageNode | string)[]): void;
  insertBefore(node: PageNode, before: PageNode): void;
  contains(node: PageNode): boolean;
  closest(selector: string): PageElement | null;
  matches(selector: string): boolean;
  querySelector(selector: string): PageElement | null;
  querySelectorAll(selector: string): ArrayLike<PageElement> & Iterable<PageElement>;
  cloneNode(deep: boolean): PageElement;
}

export interface PageDocument extends PageElement {
  readonly body: PageElement;
  readonly documentElement: PageElement;
  createElement(name: string): PageElement;
  createTextNode(text: string): PageNode;
}

/** Longer pages are not taken apart. */
export const PAGE_CHARS_MAX = 3 * 1_048_576;
/** The library gives up on a page of more elements, and takes its time for each. */
export const ELEMENTS_MAX = 50_000;
const DEPTH_MAX = 400;
/** As much of a tag as is looked at. */
const TAG_CHARS_MAX = 2_048;

const ELEMENT = 1;
const TEXT = 3;

const TAG = /^<(\/?)([a-z][a-z0-9-]*)/i;
const VOID = /^(area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr|p|li|td|tr|th|option|dt|dd)$/i;

export function textOf(node: PageNode | null): string {
  return (node?.textContent ?? "").replace(/\s+/g, " ").trim();
}

export function charsOf(node: PageNode | null): number {
  return textOf(node).length;
}

/** All tags, each from its `<` to the next `>`: every character is looked at once, whatever is open. */
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

/** Whether it is within what the library can take in its time: its work grows with the square of what is nested in what. */
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
export function documentOf(html: string, tags: readonly string[]): PageDocument {
  if (html.length > PAGE_CHARS_MAX || !isTakable(tags))
    throw new RangeError("the page has too many elements, or nests them too deep");
  // What it calls a window is not always one to the compiler.
  const { document } = parseHTML(wholePage(html)) as unknown as { readonly document: PageDocument };
  if (tags.some((tag) => LARGE_NAMES.test(tag))) writeNamesSmall(document);
  return document;
}

/** Old pages begin where they like. */
function wholePage(html: string): string {
  if (/<html[\s>]/i.test(html)) return html;
  return /<body[\s>]/i.test(html) ? `<html>${html}</html>` : `<html><body>${html}</body></html>`;
}

/** `HREF` of old pages and `colSpan` of new ones; of SVG such names are not read. */
const LARGE_NAMES = /\s(?:[A-Z][A-Z-]+|colSpan|rowSpan|srcSet|dateTime)\s*=/;

/** The library knows attributes by small letters alone. */
function writeNamesSmall(document: PageDocument): void {
  for (const element of document.querySelectorAll("*")) {
    for (const name of element.getAttributeNames()) {
      const small = name.toLowerCase();
      if (small !== name && !element.hasAttribute(small)) element.setAttribute(small, element.getAttribute(name) ?? "");
    }
  }
}

export function bodyOf(document: PageDocument): PageElement {
  return document.querySelector("body") ?? document.documentElement;
}

/** Each element below `root`, as readers meet them; below those for which `enter` answers false nothing is looked at. */
export function walkElements(root: PageElement, enter: (element: PageElement) => boolean): void {
  const open = [...root.children].reverse();
  for (let element = open.pop(); element !== undefined; element = open.pop()) {
    if (!enter(element)) continue;
    for (const child of [...element.children].reverse()) open.push(child);
  }
}

/** Whether an element stands within one of these names, a few levels up. */
export function standsIn(element: PageElement, names: ReadonlySet<string>, levels = 5): boolean {
  let at = element.parentElement;
  for (let level = 0; at !== null && level < levels; level++, at = at.parentElement) {
    if (names.has(at.localName)) return true;
  }
  return false;
}

/** How many characters of text each element has, counted in one walk: asking each for its text takes the square of their depth. That of `left` is left out. */
export function measured(body: PageElement, left: ReadonlySet<string> = new Set()): ReadonlyMap<PageNode, number> {
  const chars = new Map<PageNode, number>();
  const open: { readonly node: PageNode; readonly parent: PageNode | null; isDone: boolean }[] = [];
  open.push({ node: body, parent: null, isDone: false });
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    const { node, parent } = top;
    if (!top.isDone && node.nodeType === ELEMENT) {
      top.isDone = true;
      for (const child of node.childNodes) {
        if (child.nodeType === ELEMENT) {
          if (!left.has((child as PageElement).localName)) open.push({ node: child, parent: node, isDone: false });
        } else if (child.nodeType === TEXT)
          chars.set(node, (chars.get(node) ?? 0) + (child.textContent ?? "").trim().length);
      }
      continue;
    }
    open.pop();
    if (parent !== null) chars.set(parent, (chars.get(parent) ?? 0) + (chars.get(node) ?? 0));
  }
  return chars;
}
