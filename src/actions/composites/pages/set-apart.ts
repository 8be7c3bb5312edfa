// Puts a blank between words that a page sets apart by its styles alone, such as an author and a date side by side.
import { textOf, walkElements } from "./page-dom.ts";
import { PageElement, type PageNode, TEXT, textNode } from "./page-tree.ts";

const INLINE = new Set(["a", "abbr", "b", "button", "label", "legend", "s", "small", "span", "strong", "time"]);
const AS_IT_STANDS = new Set(["pre", "code", "math", "ruby"]);
/** Scripts without blanks have none between two boxes either. */
const WITHOUT_BLANKS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Khmer}\p{Script=Lao}]/u;
const ENDS = /[\p{L}\p{N}%\p{Sc})]$/u;
const BEGINS = /^[\p{L}\p{N}\p{Sc}@]/u;
const LOOKED_AT_CHARS = 200;

function isText(node: PageNode): boolean {
  return node.nodeType === TEXT && (node.textContent ?? "").trim() !== "";
}

/** A first letter that is drawn large is the beginning of a word. */
const isLetter = (text: string) => /^\p{L}$/u.test(text);

function areWords(left: PageElement, right: PageElement): boolean {
  const [before, after] = [textOf(left), textOf(right)];
  const hasBlank = /\s$/.test(left.textContent ?? "") || /^\s/.test(right.textContent ?? "");
  if (before === "" || after === "" || hasBlank || (isLetter(before) && left.localName !== "label")) return false;
  if (left.localName === "a" && right.localName === "a") return true;
  if (!ENDS.test(before.slice(-LOOKED_AT_CHARS)) || !BEGINS.test(after)) return false;
  return !WITHOUT_BLANKS.test(before.slice(-1)) && !WITHOUT_BLANKS.test(after.slice(0, 1));
}

/** Boxes side by side in an element that has no text of its own: what stands in a sentence has its blanks. */
export function setApart(part: PageElement): void {
  walkElements(part, (element) => {
    if (AS_IT_STANDS.has(element.localName)) return false;
    const nodes = [...element.childNodes];
    if (nodes.length < 2 || nodes.some(isText)) return true;
    for (const [at, node] of nodes.entries()) {
      const next = nodes[at + 1];
      if (!(node instanceof PageElement && next instanceof PageElement)) continue;
      if (INLINE.has(node.localName) && INLINE.has(next.localName) && areWords(node, next))
        element.insertBefore(textNode(" "), next);
    }
    return true;
  });
}
