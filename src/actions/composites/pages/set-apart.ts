// Inserts a space between words that a page separates only by style, such as an author and a date side by side.
import { textOf, walkElements } from "./page-dom.ts";
import { PageElement, type PageNode, TEXT, textNode } from "./page-tree.ts";

const INLINE = new Set(["a", "abbr", "b", "button", "label", "legend", "s", "small", "span", "strong", "time"]);
const AS_IT_STANDS = new Set(["pre", "code", "math", "ruby"]);
/** Scripts without spaces between words need none here either. */
const WITHOUT_BLANKS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Khmer}\p{Script=Lao}]/u;
const ENDS = /[\p{L}\p{N}%\p{Sc})]$/u;
const BEGINS = /^[\p{L}\p{N}\p{Sc}@]/u;
const LOOKED_AT_CHARS = 200;

function isText(node: PageNode): boolean {
  return node.nodeType === TEXT && (node.textContent ?? "").trim() !== "";
}

/** A drop cap is the beginning of a word. */
const isLetter = (text: string) => /^\p{L}$/u.test(text);

function areWords(left: PageElement, right: PageElement): boolean {
  const [before, after] = [textOf(left), textOf(right)];
  const hasBlank = /\s$/.test(left.textContent ?? "") || /^\s/.test(right.textContent ?? "");
  if (before === "" || after === "" || hasBlank || (isLetter(before) && left.localName !== "label")) return false;
  if (left.localName === "a" && right.localName === "a") return true;
  if (!ENDS.test(before.slice(-LOOKED_AT_CHARS)) || !BEGINS.test(after)) return false;
  return !WITHOUT_BLANKS.test(before.slice(-1)) && !WITHOUT_BLANKS.test(after.slice(0, 1));
}

/** Separates adjacent inline elements in a parent without text of its own; sentences have their spaces already. */
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
