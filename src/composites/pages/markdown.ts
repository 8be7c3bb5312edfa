// Writes a part of a page as Markdown: what the library does, and rules of our own for code, tables, lists, formulas and ruby.
import TurndownService from "turndown";
import { isData, tableText } from "./markdown-tables.ts";
import { type PageElement, standsIn } from "./page-dom.ts";

const elementOf = (node: TurndownService.Node) => node as unknown as PageElement;
const isNamed = (node: TurndownService.Node, name: RegExp) => name.test(node.nodeName);

/** How highlighters write a language into a class, the longer first. */
const LANGUAGE = /^(?:language-|lang-|highlight-source-|highlight-|brush:)([a-z][a-z0-9+#-]{0,20})$/i;
/** What they call their boxes that is no language. */
const NO_LANGUAGE = /^(?:default|none|text|notranslate|plain|plaintext|source|wrapper|container)$/i;

function namedIn(classes: string): string | undefined {
  const names = classes
    .slice(0, 500)
    .replace(/brush:\s/i, "brush:")
    .split(/\s/);
  return names.map((name) => LANGUAGE.exec(name)?.[1]).find((name) => name !== undefined && !NO_LANGUAGE.test(name));
}

/** Said by the block itself, by its code, or by what it stands in. */
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

/** Code as its author sees it: a break is a line, and a line that is a block of its own as well. */
function codeOf(pre: PageElement): string {
  for (const lineBreak of pre.querySelectorAll("br")) lineBreak.replaceWith("\n");
  const text = pre.textContent ?? "";
  if (text.includes("\n")) return text;
  const lines = [...pre.querySelectorAll("div,[class~=line],[class~=token-line],[class~=code-line]")];
  return lines.length > 1 ? lines.map((line) => line.textContent ?? "").join("\n") : text;
}

function fenced(pre: PageElement): string {
  const language = languageOf(pre);
  const code = codeOf(pre).replace(/^\n/, "").replace(/\n$/, "");
  const longest = Math.max(2, ...(code.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `\n\n${fence}${language}\n${code}\n${fence}\n\n`;
}

/** On an item that can be done: whether it is, as `x` or a blank. */
export const TASK = "data-tollgate-task";

function listItem(content: string, item: PageElement): string {
  const list = item.parentElement;
  const isOrdered = list !== null && /^OL$/i.test(list.nodeName);
  const start = Number.parseInt(list?.getAttribute("start") ?? "1", 10) || 1;
  const at = isOrdered ? numberOf(item) : 0;
  const task = item.getAttribute(TASK);
  const mark = `${isOrdered ? `${start + at}.` : "-"} ${task === null ? "" : `[${task}] `}`;
  const [first = "", ...others] = content.trim().split("\n");
  const indent = " ".repeat(mark.indexOf(" ") + 1);
  const lines = [first, ...others.map((line) => (line.trim() === "" ? "" : `${indent}${line}`))];
  return first === "" ? "" : `${mark}${lines.join("\n")}\n`;
}

/** Its place among the items before it, kept for the list, which would be walked for each of them otherwise. */
const numbers = new WeakMap<PageElement, Map<PageElement, number>>();
function numberOf(item: PageElement): number {
  const list = item.parentElement;
  if (list === null) return 0;
  let places = numbers.get(list);
  if (places === undefined) {
    const items = [...list.children].filter((one) => /^LI$/i.test(one.nodeName));
    places = new Map(items.map((one, at) => [one, at]));
    numbers.set(list, places);
  }
  return places.get(item) ?? 0;
}

const oneLine = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(" ");

const turndown = new TurndownService({
  headingStyle: "atx",
  codeBlockStyle: "fenced",
  bulletListMarker: "-",
  hr: "---",
});

turndown.addRule("code", { filter: ["pre"], replacement: (_, node) => fenced(elementOf(node)) });
turndown.addRule("item", { filter: ["li"], replacement: (content, node) => listItem(content, elementOf(node)) });
turndown.addRule("term", { filter: ["dt"], replacement: (content) => `\n\n${oneLine(content)}\n` });
turndown.addRule("definition", {
  filter: ["dd"],
  replacement: (content) => `: ${content.trim().replace(/\n/g, "\n  ")}\n`,
});
turndown.addRule("heading", {
  filter: ["h1", "h2", "h3", "h4", "h5", "h6"],
  replacement: (content, node) =>
    oneLine(content) === "" ? "" : `\n\n${"#".repeat(Number(node.nodeName[1]))} ${oneLine(content)}\n\n`,
});
turndown.addRule("ruby", { filter: ["rt"], replacement: (content) => `(${content.trim()})` });
// A note that is shown beside the text stands in it.
turndown.addRule("note", {
  filter: (node) => isNamed(node, /^SPAN$/i) && elementOf(node).getAttribute("class") === "ltx_note_content",
  replacement: (content) => ` (${content.trim()})`,
});
turndown.addRule("brackets", { filter: ["rp"], replacement: () => "" });
/** Documentation makes its headings links to themselves. */
function isOwnAnchor(link: PageElement): boolean {
  const heading = link.parentElement;
  if (heading === null || !/^(?:H[1-6]|DT|CAPTION)$/i.test(heading.nodeName)) return false;
  return (link.getAttribute("href") ?? "").includes("#") && link.textContent?.trim() === heading.textContent?.trim();
}

/** Signs by which a heading shows that it can be linked to, and blanks without width. */
const SIGNS = /[\s\u200b-\u200d\u2060\ufeff#¶§🔗]+/gu;

/** There is nothing of it to be read. */
function isBare(link: PageElement): boolean {
  const text = (link.textContent ?? "").slice(0, SIGNS_CHARS_MAX);
  if (text.replace(SIGNS, "") !== "" || link.querySelector("img[src]") !== null) return false;
  return text.trim() === "" || (link.getAttribute("href") ?? "#").includes("#");
}
const SIGNS_CHARS_MAX = 200;

// A link that leads nowhere, or where one is, is its text.
turndown.addRule("mere text", {
  filter: (node) =>
    isNamed(node, /^A$/i) && (elementOf(node).getAttribute("href") === null || isOwnAnchor(elementOf(node))),
  replacement: (content) => content,
});
// A link around blocks would be broken over lines.
turndown.addRule("block link", {
  filter: (node) =>
    isNamed(node, /^A$/i) &&
    elementOf(node).getAttribute("href") !== null &&
    elementOf(node).querySelector("h1,h2,h3,h4,h5,h6,p,div,ul,table") !== null,
  replacement: (content, node) => {
    const text = content.trim();
    return text.includes("\n")
      ? `\n\n${text}\n\n`
      : `[${text.replace(/^#+ /, "")}](${elementOf(node).getAttribute("href")})`;
  },
});
turndown.addRule("bare link", {
  filter: (node) => isNamed(node, /^A$/i) && isBare(elementOf(node)),
  replacement: () => "",
});
turndown.addRule("image", {
  filter: (node) => isNamed(node, /^IMG$/i) && !/^https?:/.test(elementOf(node).getAttribute("src") ?? ""),
  replacement: (_, node) => elementOf(node).getAttribute("alt") ?? "",
});
/** What keeps a place free, or counts readers, and shows nothing. */
function isDot(image: PageElement): boolean {
  if ((image.getAttribute("alt") ?? "") !== "") return false;
  if (["width", "height"].some((name) => /^[012]$/.test(image.getAttribute(name) ?? ""))) return true;
  return /(?:^|[/_-])(?:placeholder|spacer|blank|pixel|transparent|1x1)\.(?:gif|png|svg)$/i.test(
    image.getAttribute("src") ?? "",
  );
}
turndown.addRule("dot", {
  filter: (node) => isNamed(node, /^IMG$/i) && isDot(elementOf(node)),
  replacement: () => "",
});
const PRE = new Set(["pre"]);
turndown.addRule("code in a line", {
  filter: (node) => isNamed(node, /^CODE$/i) && !standsIn(elementOf(node), PRE),
  replacement: (_, node) => codeInLine(elementOf(node).textContent ?? ""),
});
// 10 to the sixth is not 106.
turndown.addRule("power", {
  filter: (node) =>
    isNamed(node, /^SUP$/i) &&
    elementOf(node).querySelector("a") === null &&
    /^(?:[-+−–]?\d{1,4}|[nijkxm])$/.test((elementOf(node).textContent ?? "").trim()) &&
    /[\p{L}\p{N})]$/u.test(textBefore(elementOf(node))),
  replacement: (_, node) => `^${(elementOf(node).textContent ?? "").trim()}`,
});

const textBefore = (element: PageElement) => element.previousSibling?.textContent ?? "";

/** Code within a line has no links, and a fence that is longer than any in it. */
function codeInLine(said: string): string {
  const code = said.replace(/[\r\n]+/g, " ");
  if (code.trim() === "") return "";
  const longest = Math.max(0, ...(code.match(/`+/g) ?? []).map((run) => run.length));
  const [fence, blank] = ["`".repeat(longest + 1), longest > 0 ? " " : ""];
  return `${fence}${blank}${code}${blank}${fence}`;
}
turndown.addRule("formula", {
  filter: (node) => isNamed(node, /^MATH$/i),
  replacement: (_, node) => {
    const math = elementOf(node);
    const tex =
      math.querySelector('annotation[encoding="application/x-tex"]')?.textContent ?? math.getAttribute("alttext");
    if (tex == null) return oneLine(math.textContent ?? "");
    return math.getAttribute("display") === "block" ? `\n\n$$${tex.trim()}$$\n\n` : `$${tex.trim()}$`;
  },
});
turndown.addRule("table", {
  filter: (node) => isNamed(node, /^TABLE$/i) && isData(elementOf(node)),
  replacement: (_, node) => `\n\n${tableText(elementOf(node), cellText)}\n\n`,
});
// Of a table that is a layout each cell is a paragraph.
turndown.addRule("cell", {
  filter: ["td", "th", "caption"],
  replacement: (content) => (content.trim() === "" ? "" : `\n\n${content.trim()}\n\n`),
});
turndown.addRule("struck", {
  filter: ["del", "s"],
  replacement: (content) => (content.trim() === "" ? "" : `~~${content.trim()}~~`),
});

/** A cell has one line, and no bar of its own. */
function cellText(cell: PageElement): string {
  if (cell.firstElementChild === null) return barred(oneLine(turndown.escape(cell.textContent ?? "")));
  return barred(oneLine(markdownOf(cell).replace(/\n- /g, "; ").replace(/^- /, "")));
}

/** What means something at the head of a line alone means nothing in a cell: figures are left as they are. */
const barred = (text: string) =>
  text
    .replaceAll(AT_BEGINNING, "")
    .replace(/^\\([-+#>])/, "$1")
    .replace(/^(\d{1,9})\\\./, "$1.")
    .replace(/\|/g, "\\|");

/** Stands before what is to be escaped at the beginning of a line alone; no character of any text. */
const AT_BEGINNING = "\ufdd0";
const escaped = turndown.escape.bind(turndown);
turndown.escape = (text) => escaped(text).replace(/^\\(?=[-+=>#~])/, AT_BEGINNING);
const BEGINNING = /^([ >]*(?:[-*] |\d{1,9}\. )?)\ufdd0/gm;

export function markdownOf(part: PageElement): string {
  const text = turndown.turndown(part as unknown as TurndownService.Node).trim();
  return text.replace(BEGINNING, "$1\\").replaceAll(AT_BEGINNING, "");
}
