// A page as a tree of linked nodes, with constant-time insertion and removal. Implements the part of the DOM that the page readers use.
import { Parser } from "htmlparser2";
import { type Matcher, matcherOf } from "./page-selectors.ts";

const ELEMENT = 1;
export const TEXT = 3;
export const COMMENT = 8;
const DOCUMENT = 9;

export type PageNode = PageElement | PageLeaf;

abstract class Linked {
  parentNode: PageElement | null = null;
  previousSibling: PageNode | null = null;
  nextSibling: PageNode | null = null;

  get parentElement(): PageElement | null {
    const parent = this.parentNode;
    return parent === null || parent.nodeType === DOCUMENT ? null : parent;
  }

  remove(this: PageNode): void {
    const { parentNode: parent, previousSibling: before, nextSibling: behind } = this;
    if (parent === null) return;
    if (before === null) parent.firstChild = behind;
    else before.nextSibling = behind;
    if (behind === null) parent.lastChild = before;
    else behind.previousSibling = before;
    this.parentNode = null;
    this.previousSibling = null;
    this.nextSibling = null;
  }

  replaceWith(this: PageNode, node: PageNode): void {
    this.parentNode?.insertBefore(node, this);
    this.remove();
  }
}

export class PageLeaf extends Linked {
  readonly nodeType: number;
  data: string;

  constructor(nodeType: typeof TEXT | typeof COMMENT, data: string) {
    super();
    this.nodeType = nodeType;
    this.data = data;
  }

  get textContent(): string {
    return this.data;
  }
}

export class PageElement extends Linked {
  readonly nodeType: number;
  /** In lower case. */
  readonly localName: string;
  firstChild: PageNode | null = null;
  lastChild: PageNode | null = null;
  readonly #attributes: Record<string, string>;

  constructor(localName: string, attributes: Record<string, string> = {}, nodeType = ELEMENT) {
    super();
    this.localName = localName;
    this.nodeType = nodeType;
    this.#attributes = attributes;
  }

  get childNodes(): PageNode[] {
    const nodes: PageNode[] = [];
    for (let node = this.firstChild; node !== null; node = node.nextSibling) nodes.push(node);
    return nodes;
  }

  get children(): PageElement[] {
    const elements: PageElement[] = [];
    for (let node = this.firstChild; node !== null; node = node.nextSibling)
      if (node instanceof PageElement) elements.push(node);
    return elements;
  }

  get firstElementChild(): PageElement | null {
    return elementFrom(this.firstChild, "nextSibling");
  }

  get lastElementChild(): PageElement | null {
    return elementFrom(this.lastChild, "previousSibling");
  }

  get previousElementSibling(): PageElement | null {
    return elementFrom(this.previousSibling, "previousSibling");
  }

  get textContent(): string {
    let text = "";
    for (let node = this.firstChild; node !== null; node = nextIn(this, node))
      if (node.nodeType === TEXT) text += (node as PageLeaf).data;
    return text;
  }

  set textContent(text: string) {
    this.#empty();
    this.append(new PageLeaf(TEXT, text));
  }

  get innerHTML(): string {
    return htmlOf(this);
  }

  set innerHTML(html: string) {
    this.#empty();
    parseInto(this, html);
  }

  #empty(): void {
    for (const node of this.childNodes) node.remove();
  }

  getAttribute(name: string): string | null {
    return this.#attributes[name] ?? null;
  }

  getAttributeNames(): string[] {
    return Object.keys(this.#attributes);
  }

  hasAttribute(name: string): boolean {
    return this.#attributes[name] !== undefined;
  }

  setAttribute(name: string, value: string): void {
    this.#attributes[name] = value;
  }

  removeAttribute(name: string): void {
    delete this.#attributes[name];
  }

  append(node: PageNode): void {
    node.remove();
    node.parentNode = this;
    node.previousSibling = this.lastChild;
    if (this.lastChild === null) this.firstChild = node;
    else this.lastChild.nextSibling = node;
    this.lastChild = node;
  }

  prepend(node: PageNode): void {
    if (this.firstChild === null) this.append(node);
    else this.insertBefore(node, this.firstChild);
  }

  insertBefore(node: PageNode, behind: PageNode): void {
    node.remove();
    const before = behind.previousSibling;
    node.parentNode = this;
    node.previousSibling = before;
    node.nextSibling = behind;
    behind.previousSibling = node;
    if (before === null) this.firstChild = node;
    else before.nextSibling = node;
  }

  contains(node: PageNode): boolean {
    for (let at: PageNode | null = node; at !== null; at = at.parentNode) if (at === this) return true;
    return false;
  }

  matches(selector: string): boolean {
    return matcherOf(selector)(this);
  }

  closest(selector: string): PageElement | null {
    const matcher = matcherOf(selector);
    for (let at: PageElement | null = this; at !== null; at = at.parentElement) if (matcher(at)) return at;
    return null;
  }

  querySelector(selector: string): PageElement | null {
    return firstIn(this, matcherOf(selector));
  }

  querySelectorAll(selector: string): PageElement[] {
    const matcher = matcherOf(selector);
    const found: PageElement[] = [];
    for (let node = this.firstChild; node !== null; node = nextIn(this, node))
      if (node instanceof PageElement && matcher(node)) found.push(node);
    return found;
  }
}

function elementFrom(from: PageNode | null, next: "nextSibling" | "previousSibling"): PageElement | null {
  let node = from;
  while (node !== null && !(node instanceof PageElement)) node = node[next];
  return node;
}

function firstIn(root: PageElement, matcher: Matcher): PageElement | null {
  for (let node = root.firstChild; node !== null; node = nextIn(root, node))
    if (node instanceof PageElement && matcher(node)) return node;
  return null;
}

/** The next node in document order within `root`; null after the last. */
export function nextIn(root: PageElement, node: PageNode): PageNode | null {
  if (node instanceof PageElement && node.firstChild !== null) return node.firstChild;
  let at: PageNode | null = node;
  while (at !== null && at !== root && at.nextSibling === null) at = at.parentNode;
  return at === null || at === root ? null : at.nextSibling;
}

/** Unclosed items and paragraphs nest, as deep as a page has them. */
const OPEN_MAX = 1_200;

/** Higher than the bound before parsing, which misses some tags, such as those within others. */
const ELEMENTS_MAX = 100_000;

/** Throws RangeError where there are too many elements, or they nest too deep. */
function parseInto(root: PageElement, html: string): void {
  let into = root;
  let open = 0;
  let elements = 0;
  const parser = new Parser({
    onopentag(name, attributes) {
      const element = new PageElement(name, attributes);
      into.append(element);
      into = element;
      if (++elements > ELEMENTS_MAX) throw new RangeError("there are too many elements");
      if (++open > OPEN_MAX) throw new RangeError("elements stand too deep within each other");
    },
    // The parser splits a text at each character reference.
    ontext(text) {
      const before = into.lastChild;
      if (before instanceof PageLeaf && before.nodeType === TEXT) before.data += text;
      else into.append(new PageLeaf(TEXT, text));
    },
    oncomment: (text) => into.append(new PageLeaf(COMMENT, text)),
    onclosetag() {
      into = into.parentNode ?? root;
      open -= 1;
    },
  });
  parser.write(html);
  parser.end();
}

/** Throws RangeError where there are too many elements, or they nest too deep. */
export function parsed(html: string): PageElement {
  const document = new PageElement("#document", {}, DOCUMENT);
  parseInto(document, html);
  return document;
}

export function elementOf(name: string): PageElement {
  return new PageElement(name);
}

export function textNode(text: string): PageLeaf {
  return new PageLeaf(TEXT, text);
}

export const VOID: ReadonlySet<string> = new Set(
  "area,base,br,col,command,embed,hr,img,input,keygen,link,meta,param,source,track,wbr".split(","),
);
const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\u00a0": "&nbsp;",
};
const escaped = (text: string, signs: RegExp) => text.replace(signs, (sign) => ESCAPES[sign] ?? sign);

/** An element's content as HTML. Omits comments, which browsers may end earlier than parsers do. */
function htmlOf(root: PageElement): string {
  let html = "";
  for (const node of root.childNodes) {
    if (node instanceof PageElement) {
      const attributes = node
        .getAttributeNames()
        .map((name) => ` ${name}="${escaped(node.getAttribute(name) ?? "", /[&<>"\u00a0]/g)}"`);
      html += `<${node.localName}${attributes.join("")}>`;
      if (!VOID.has(node.localName)) html += `${htmlOf(node)}</${node.localName}>`;
    } else if (node.nodeType === TEXT) html += escaped(node.data, /[&<>\u00a0]/g);
  }
  return html;
}
