// Collapses whitespace as browsers do, within blocks and at their edges. Also finds the elements with something to read.
import { PageElement, type PageLeaf, type PageNode, TEXT, VOID } from "./page-tree.ts";

const BLOCKS = new Set(
  "address,article,aside,audio,blockquote,body,canvas,center,dd,dir,div,dl,dt,fieldset,figcaption,figure,footer,form,frameset,h1,h2,h3,h4,h5,h6,header,hgroup,hr,html,isindex,li,main,menu,nav,noframes,noscript,ol,output,p,pre,section,table,tbody,td,tfoot,th,thead,tr,ul".split(
    ",",
  ),
);
/** Elements that mean something even without text. */
const SAYING = new Set("a,table,thead,tbody,tfoot,th,td,iframe,script,audio,video".split(","));
/** Whitespace other than a single space. */
const BLANK_RUN = /[\r\n\t][ \r\n\t]*| [ \r\n\t]+/g;

export function isBlock(element: PageElement): boolean {
  return BLOCKS.has(element.localName);
}

/** The elements with something to read in them, or in their own right. */
export type Filled = ReadonlySet<PageElement>;

/** Collapses whitespace in `root`, in place, and removes comments and empty texts. Leaves `pre` as it is. */
export function collapseBlanks(root: PageElement): Filled {
  const collapsing = new Collapsing();
  collapsing.inside(root);
  collapsing.end();
  return collapsing.filled;
}

class Collapsing {
  readonly filled = new Set<PageElement>();
  /** The preceding text in the same block. */
  #before: PageLeaf | null = null;
  /** An image precedes, so that a leading space stays. */
  #keepsLeading = false;

  inside(element: PageElement): void {
    for (let node = element.firstChild; node !== null; ) {
      const next: PageNode | null = node.nextSibling;
      if (node instanceof PageElement) this.#element(node);
      else if (node.nodeType === TEXT) this.#text(node);
      else node.remove();
      node = next;
    }
  }

  end(): void {
    const before = this.#before;
    if (before?.data.endsWith(" ")) before.data = before.data.slice(0, -1);
  }

  #element(element: PageElement): void {
    const name = element.localName;
    if (VOID.has(name) || SAYING.has(name)) this.#fill(element);
    this.#edge(name);
    if (name !== "pre") this.inside(element);
    else if (element.textContent.trim() !== "") this.#fill(element);
    this.#edge(name);
  }

  /** Called where an element begins, and where it ends. */
  #edge(name: string): void {
    if (BLOCKS.has(name) || name === "br") {
      this.end();
      this.#before = null;
      this.#keepsLeading = false;
    } else if (VOID.has(name)) {
      this.#before = null;
      this.#keepsLeading = true;
    } else if (this.#before !== null) this.#keepsLeading = false;
  }

  #text(leaf: PageLeaf): void {
    const isFirst = this.#before === null || this.#before.data.endsWith(" ");
    const text = leaf.data.replace(BLANK_RUN, " ");
    leaf.data = isFirst && !this.#keepsLeading && text.startsWith(" ") ? text.slice(1) : text;
    if (leaf.data === "") return leaf.remove();
    this.#before = leaf;
    if (leaf.data.trim() !== "") this.#fill(leaf.parentNode);
  }

  #fill(from: PageElement | null): void {
    for (let at = from; at !== null && !this.filled.has(at); at = at.parentNode) this.filled.add(at);
  }
}

/** Whitespace at the beginning and end of a text, of any kind. */
export interface Edges {
  readonly leading: string;
  readonly trailing: string;
}

const NO_EDGES: Edges = { leading: "", trailing: "" };
const isAscii = (sign: string | undefined) => sign === " " || sign === "\n" || sign === "\t" || sign === "\r";

function textAtEdge(node: PageNode, side: "first" | "last"): string {
  if (!(node instanceof PageElement)) return node.data;
  for (let one = side === "first" ? node.firstChild : node.lastChild; one !== null; ) {
    const text: string = textAtEdge(one, side);
    if (text !== "") return text;
    one = side === "first" ? one.nextSibling : one.previousSibling;
  }
  return "";
}

/** Whether a neighbour already has the space between the two. */
function isFlanked(neighbour: PageNode | null, side: "before" | "behind"): boolean {
  if (neighbour === null || (neighbour instanceof PageElement && isBlock(neighbour))) return false;
  return side === "before"
    ? textAtEdge(neighbour, "last").endsWith(" ")
    : textAtEdge(neighbour, "first").startsWith(" ");
}

/** The whitespace that must stay outside an inline element's Markdown marks. */
export function edgesOf(element: PageElement): Edges {
  if (isBlock(element)) return NO_EDGES;
  const [first, last] = [textAtEdge(element, "first").at(0), textAtEdge(element, "last").at(-1)];
  if ((first ?? "x").trim() !== "" && (last ?? "x").trim() !== "") return NO_EDGES;
  const text = element.textContent;
  const leading = text.slice(0, text.length - text.trimStart().length);
  const trailing = leading === text ? "" : text.slice(text.trimEnd().length);
  let [begin, end] = [0, trailing.length];
  if (isFlanked(element.previousSibling, "before")) while (isAscii(leading[begin])) begin += 1;
  if (isFlanked(element.nextSibling, "behind")) while (end > 0 && isAscii(trailing[end - 1])) end -= 1;
  return { leading: leading.slice(begin), trailing: trailing.slice(0, end) };
}
