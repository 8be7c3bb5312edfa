// Writes part of a page as Markdown in one walk, with rules for code, tables, lists, formulas and ruby.
import { getOrMake } from "../../../core/maps.ts";
import { collapseBlanks, edgesOf, type Filled, isBlock } from "./inline-blanks.ts";
import { atBeginnings, escaped, inCell, Joined, oneLine, withoutBreaks } from "./markdown-lines.ts";
import { isData, tableText } from "./markdown-tables.ts";
import { PageElement, TEXT, textNode } from "./page-tree.ts";

/** How highlighters encode a language in a class; longer prefixes first. */
const LANGUAGE = /^(?:language-|lang-|highlight-source-|highlight-|brush:)([a-z][a-z0-9+#-]{0,20})$/i;
/** Such class names that are not languages. */
const NO_LANGUAGE = /^(?:default|none|text|notranslate|plain|plaintext|source|wrapper|container)$/i;

function namedIn(classes: string): string | undefined {
  const names = classes
    .slice(0, 500)
    .replace(/brush:\s/i, "brush:")
    .split(/\s/);
  return names.map((name) => LANGUAGE.exec(name)?.[1]).find((name) => name !== undefined && !NO_LANGUAGE.test(name));
}

/** From the block itself, its code, or an element around it. */
function languageOf(pre: PageElement): string {
  const above = [pre.parentElement, pre.parentElement?.parentElement ?? null].filter(
    (one) => one !== null && one.querySelectorAll("pre").length === 1,
  );
  for (const element of [pre.querySelector("code"), pre, ...above]) {
    const said = element?.getAttribute("data-language") ?? element?.getAttribute("data-lang");
    if (said != null && /^[\w+#-]{1,20}$/.test(said)) return said;
    const named = namedIn(element?.getAttribute("class") ?? "");
    if (named !== undefined) return named;
  }
  return "";
}

/** The code's text, with line breaks for `br`, and for lines that are elements. */
function codeOf(pre: PageElement): string {
  for (const lineBreak of pre.querySelectorAll("br")) lineBreak.replaceWith(textNode("\n"));
  const text = pre.textContent;
  if (text.includes("\n")) return text;
  const lines = [...pre.querySelectorAll("div,[class~=line],[class~=token-line],[class~=code-line]")];
  return lines.length > 1 ? lines.map((line) => line.textContent).join("\n") : text;
}

function fenced(pre: PageElement): string {
  const language = languageOf(pre);
  const code = codeOf(pre).replace(/^\n/, "").replace(/\n$/, "");
  const longest = Math.max(2, ...(code.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `\n\n${fence}${language}\n${code}\n${fence}\n\n`;
}

/** Set on a task list item: `x` where it is done, else a space. */
export const TASK = "data-tollgate-task";

function listItem(content: string, item: PageElement): string {
  const list = item.parentElement;
  const isOrdered = list !== null && list.localName === "ol";
  const start = Number.parseInt(list?.getAttribute("start") ?? "1", 10) || 1;
  const at = isOrdered ? numberOf(item) : 0;
  const task = item.getAttribute(TASK);
  const mark = `${isOrdered ? `${start + at}.` : "-"} ${task === null ? "" : `[${task}] `}`;
  const [first = "", ...others] = content.trim().split("\n");
  const indent = " ".repeat(mark.indexOf(" ") + 1);
  const lines = [first, ...others.map((line) => (line.trim() === "" ? "" : `${indent}${line}`))];
  return first === "" ? "" : `${mark}${lines.join("\n")}\n`;
}

/** The number of each item in its list. Cached, because counting would walk the list for each item. */
const numbers = new WeakMap<PageElement, Map<PageElement, number>>();
function numberOf(item: PageElement): number {
  const list = item.parentElement;
  if (list === null) return 0;
  const places = getOrMake(numbers, list, () => {
    const items = list.children.filter((one) => one.localName === "li");
    return new Map(items.map((one, at) => [one, at]));
  });
  return places.get(item) ?? 0;
}

/** Whether a link is a heading's link to itself, as in documentation. */
function isOwnAnchor(link: PageElement): boolean {
  const heading = link.parentElement;
  if (heading === null || !/^(?:h[1-6]|dt|caption)$/.test(heading.localName)) return false;
  return (link.getAttribute("href") ?? "").includes("#") && link.textContent.trim() === heading.textContent.trim();
}

/** Signs that mark a heading's own link, and zero-width spaces. */
const SIGNS = /[\s\u200b-\u200d\u2060\ufeff#¶§🔗]+/gu;

function isBare(link: PageElement): boolean {
  const text = link.textContent.slice(0, SIGNS_CHARS_MAX);
  if (text.replace(SIGNS, "") !== "" || link.querySelector("img[src]") !== null) return false;
  return text.trim() === "" || (link.getAttribute("href") ?? "#").includes("#");
}
const SIGNS_CHARS_MAX = 200;

function isDot(image: PageElement): boolean {
  if ((image.getAttribute("alt") ?? "") !== "") return false;
  if (["width", "height"].some((name) => /^[012]$/.test(image.getAttribute(name) ?? ""))) return true;
  return /(?:^|[/_-])(?:placeholder|spacer|blank|pixel|transparent|1x1)\.(?:gif|png|svg)$/i.test(
    image.getAttribute("src") ?? "",
  );
}
/** Inline code, with a fence longer than any in it, and without links. */
function codeInLine(said: string): string {
  const code = said.replace(/[\r\n]+/g, " ");
  if (code.trim() === "") return "";
  const longest = Math.max(0, ...(code.match(/`+/g) ?? []).map((run) => run.length));
  const [fence, blank] = ["`".repeat(longest + 1), longest > 0 ? " " : ""];
  return `${fence}${blank}${code}${blank}${fence}`;
}

/**
 * Bounds in characters: on the output of one element, and on the sum over all elements, where nesting counts a text repeatedly. Without
 * them, a thread that needs one large allocation at its memory limit would end the whole process instead of itself.
 */
const ELEMENT_CHARS_MAX = 4_194_304;
const ALL_CHARS_MAX = 134_217_728;
/** Per element: each line becomes a string while it is indented. */
const LINES_MAX = 200_000;

function checkLines(text: string): void {
  let lines = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1))
    if (++lines > LINES_MAX) throw new RangeError("the page has too many lines");
}

/** Writes an element; `inside` writes its content. */
type Rule = (element: PageElement, inside: () => string, writer: Writer) => string;

const block = (text: string) => `\n\n${text}\n\n`;
const byDefault: Rule = (element, inside) => (isBlock(element) ? block(inside()) : inside());
const marked =
  (mark: string): Rule =>
  (_, inside) => {
    const text = inside();
    return text.trim() === "" ? "" : `${mark}${text}${mark}`;
  };
const nothing: Rule = () => "";

const heading: Rule = (element, inside) => {
  const text = oneLine(inside());
  return text === "" ? "" : block(`${"#".repeat(Number(element.localName[1]))} ${text}`);
};

const list: Rule = (element, inside) => {
  const parent = element.parentElement;
  const isLast = parent?.localName === "li" && parent.lastElementChild === element;
  return isLast ? `\n${inside()}` : block(inside());
};

const quote: Rule = (_, inside) => block(withoutBreaks(inside()).replace(/^/gm, "> "));

const BLOCKS_OF_LINKS =
  "h1,h2,h3,h4,h5,h6,p,div,ul,ol,dl,table,figure,section,article,header,footer,aside,main,blockquote,pre,address";

const link: Rule = (element, inside) => {
  if (isBare(element)) return "";
  const address = element.getAttribute("href");
  // A link without an address is plain text.
  if (address === null) return inside();
  // Markdown links cannot span blocks.
  if (element.querySelector(BLOCKS_OF_LINKS) !== null) {
    const text = inside().trim();
    return text.includes("\n") ? block(text) : `[${text.replace(/^#+ /, "")}](${address})`;
  }
  if (isOwnAnchor(element) || address === "") return inside();
  return `[${inside()}](${destination(address)}${titleIn(element)})`;
};

const said = (attribute: string | null) => attribute?.replace(/\n\s*/g, "\n") ?? "";
const titleIn = (element: PageElement) => {
  const title = said(element.getAttribute("title"));
  return title === "" ? "" : ` "${title.replace(/"/g, '\\"')}"`;
};

function destination(address: string): string {
  const text = address.replace(/[<>()]/g, "\\$&");
  return text.includes(" ") ? `<${text}>` : text;
}

const image: Rule = (element) => {
  if (isDot(element)) return "";
  const source = element.getAttribute("src") ?? "";
  const alt = element.getAttribute("alt") ?? "";
  return /^https?:/.test(source) ? `![${escaped(said(alt))}](${destination(source)}${titleIn(element)})` : alt;
};

/** Writes exponents with `^`, so that 10^6 does not become 106. */
const raised: Rule = (element, inside) => {
  const text = element.textContent.trim();
  const isPower =
    /^(?:[-+−–]?\d{1,4}|[nijkxm])$/.test(text) &&
    element.querySelector("a") === null &&
    /[\p{L}\p{N})]$/u.test(element.previousSibling?.textContent.slice(-2) ?? "");
  return isPower ? `^${text}` : inside();
};

const formula: Rule = (math) => {
  const tex =
    math.querySelector('annotation[encoding="application/x-tex"]')?.textContent ?? math.getAttribute("alttext");
  if (tex === null) return oneLine(math.textContent);
  return math.getAttribute("display") === "block" ? block(`$$${tex.trim()}$$`) : `$${tex.trim()}$`;
};

// A side note becomes part of the text.
const span: Rule = (element, inside) =>
  element.getAttribute("class") === "ltx_note_content" ? ` (${inside().trim()})` : inside();

const table: Rule = (element, inside, writer) =>
  isData(element) ? block(tableText(element, (cell) => writer.cell(cell))) : block(inside());

// In a layout table, each cell is a paragraph.
const cell: Rule = (_, inside) => {
  const text = inside().trim();
  return text === "" ? "" : block(text);
};

const struck: Rule = (_, inside) => {
  const text = inside().trim();
  return text === "" ? "" : `~~${text}~~`;
};

const RULES = new Map<string, Rule>([
  ["a", link],
  ["b", marked("**")],
  ["blockquote", quote],
  ["br", () => "  \n"],
  ["caption", cell],
  ["code", (element) => codeInLine(element.textContent)],
  ["dd", (_, inside) => `: ${inside().trim().replace(/\n/g, "\n  ")}\n`],
  ["del", struck],
  ["dt", (_, inside) => `\n\n${oneLine(inside())}\n`],
  ["em", marked("_")],
  ["hr", () => block("---")],
  ["i", marked("_")],
  ["img", image],
  ["li", (element, inside) => listItem(inside(), element)],
  ["math", formula],
  ["ol", list],
  ["pre", fenced],
  ["rp", nothing],
  ["rt", (_, inside) => `(${inside().trim()})`],
  ["s", struck],
  ["span", span],
  ["strong", marked("**")],
  ["sup", raised],
  ["table", table],
  ["td", cell],
  ["th", cell],
  ["ul", list],
  ...["h1", "h2", "h3", "h4", "h5", "h6"].map((name) => [name, heading] as const),
]);

class Writer {
  readonly #filled: Filled;
  #written = 0;

  constructor(filled: Filled) {
    this.#filled = filled;
  }

  inside(element: PageElement): string {
    const joined = new Joined();
    for (let node = element.firstChild; node !== null; node = node.nextSibling) {
      if (node instanceof PageElement) joined.add(this.#element(node));
      else if (node.nodeType === TEXT) joined.add(escaped(node.data));
    }
    return joined.text();
  }

  /** A table cell: one line, with bars escaped. */
  cell(element: PageElement): string {
    const text = this.inside(element).trim();
    return inCell(oneLine(text.replace(/\n- /g, "; ").replace(/^- /, "")));
  }

  #element(element: PageElement): string {
    const { leading, trailing } = edgesOf(element);
    const isTrimmed = leading !== "" || trailing !== "";
    const inside = () => {
      const text = this.inside(element);
      this.#count(text);
      return isTrimmed ? text.trim() : text;
    };
    return `${leading}${this.#rewritten(element, inside)}${trailing}`;
  }

  /** Throws RangeError beyond the bounds of a page. */
  #count(text: string): void {
    this.#written += text.length;
    if (text.length > ELEMENT_CHARS_MAX || this.#written > ALL_CHARS_MAX)
      throw new RangeError("the page says too much, or one text too often");
    if (text.length > LINES_MAX) checkLines(text);
  }

  #rewritten(element: PageElement, inside: () => string): string {
    if (!this.#filled.has(element)) return isBlock(element) ? "\n\n" : "";
    return (RULES.get(element.localName) ?? byDefault)(element, inside, this);
  }
}

/** Changes `part`: collapses its whitespace. */
export function markdownOf(part: PageElement): string {
  const writer = new Writer(collapseBlanks(part));
  return atBeginnings(writer.inside(part).trim());
}
