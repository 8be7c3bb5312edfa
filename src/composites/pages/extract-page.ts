// Makes of a page's HTML what is read of it: its main text as Markdown or HTML, its title, and what its code says of it. Runs in a thread of its own.
import { Readability } from "@mozilla/readability";
import { parseHTML } from "linkedom";
import TurndownService from "turndown";
import { hasMount, hasSkeleton, hasWallMark, isWaiting } from "./wall-words.ts";
import type { PageFacts } from "./yield.ts";

export interface ExtractOrder {
  readonly html: string;
  /** What its links are relative to. */
  readonly url: string;
  readonly format: "markdown" | "html" | "text";
  readonly mainContent: boolean;
}

export interface Extracted {
  readonly content: string;
  readonly title: string | null;
  readonly facts: PageFacts;
}

/** As much of the DOM as is used here; the types of a browser are no part of this program. */
interface PageElement {
  textContent: string | null;
  readonly innerHTML: string;
  getAttribute(name: string): string | null;
  getAttributeNames(): string[];
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
  remove(): void;
  querySelector(selector: string): PageElement | null;
  querySelectorAll(selector: string): ArrayLike<PageElement> & Iterable<PageElement>;
  cloneNode(deep: true): PageElement;
}

type PageDocument = PageElement & { readonly body: PageElement; readonly documentElement: PageElement };

const NEVER_SEEN = "script,style,noscript,template,svg,iframe,object,embed,link,meta,[hidden]";
const AROUND = "nav,header,footer,aside,[role=navigation],[role=banner],[role=contentinfo],dialog";
const HEADINGS = "h1,h2,h3,h4,h5,h6";
/** Longer pages are not taken apart. */
export const PAGE_CHARS_MAX = 3 * 1_048_576;
const LINKS_MAX = 2_000;
/** A longer one is no address that anybody can ask. */
const LINK_CHARS_MAX = 2_048;
/** Of all links together: they go back to the event loop. */
const ALL_LINKS_CHARS_MAX = 262_144;
const TITLE_CHARS_MAX = 500;
/** The library gives up on a page of more elements, and takes its time for each. */
const ELEMENTS_MAX = 50_000;
const DEPTH_MAX = 400;
/** With less than this part of what is seen, it has found the wrong part of the page. */
const ARTICLE_SHARE = 0.4;
const SCRIPT_CHARS_MIN = 200;

const turndown = new TurndownService({
  headingStyle: "atx",
  codeBlockStyle: "fenced",
  bulletListMarker: "-",
  hr: "---",
});

type ReadabilityInput = ConstructorParameters<typeof Readability>[0];

function documentOf(html: string): PageDocument {
  return parseHTML(html).document as unknown as PageDocument;
}

function charsOf(node: PageElement | null): number {
  return (node?.textContent ?? "").replace(/\s+/g, " ").trim().length;
}

function absolute(value: string | null, base: string): string | null {
  const url = value === null ? null : URL.parse(value, base);
  return url !== null && /^(https?|mailto|tel|data):$/.test(url.protocol) ? url.href : null;
}

function makeLinksAbsolute(document: PageDocument, base: string): void {
  for (const [selector, name] of [
    ["a[href]", "href"],
    ["img[src]", "src"],
  ] as const) {
    for (const element of document.querySelectorAll(selector)) {
      const url = absolute(element.getAttribute(name), base);
      if (url === null) element.removeAttribute(name);
      else element.setAttribute(name, url);
    }
  }
}

function linksOf(document: PageDocument): readonly string[] {
  const links = new Set<string>();
  let chars = 0;
  for (const element of document.querySelectorAll("a[href]")) {
    const link = (element.getAttribute("href") ?? "").replace(/#.*$/s, "");
    if (!/^https?:/.test(link) || link.length > LINK_CHARS_MAX || links.has(link)) continue;
    chars += link.length;
    if (links.size === LINKS_MAX || chars > ALL_LINKS_CHARS_MAX) break;
    links.add(link);
  }
  return [...links];
}

function titleOf(document: PageDocument): string | null {
  const said = [
    document.querySelector("head title")?.textContent,
    document.querySelector('meta[property="og:title"]')?.getAttribute("content"),
    document.querySelector("h1")?.textContent,
  ];
  const title = said.map((one) => (one ?? "").replace(/\s+/g, " ").trim()).find((one) => one !== "");
  return title?.slice(0, TITLE_CHARS_MAX) ?? null;
}

/** Whether there is nothing to read but what stands around, and lines that wait for more. */
function saysNothing(body: PageElement): boolean {
  const copy = body.cloneNode(true) as PageElement;
  for (const element of copy.querySelectorAll(`${AROUND},${HEADINGS}`)) element.remove();
  const lines = turndown.turndown(copy as unknown as TurndownService.Node).split("\n");
  return lines.every((line) => line.trim() === "" || isWaiting(line));
}

/** Whether a script was to make the body: it pleads for scripts, or shows the shape of what is to come, and says little else. */
function isScripted(tags: readonly string[], document: PageDocument, body: PageElement): boolean {
  const scripts = document.querySelectorAll("script").length;
  const seen = charsOf(body);
  if (scripts === 0 || seen >= SCRIPT_CHARS_MIN) return false;
  const plea = [...document.querySelectorAll("noscript")].some((one) => /java ?script/i.test(one.textContent ?? ""));
  return seen === 0 || plea || ((hasMount(tags) || hasSkeleton(tags)) && saysNothing(body));
}

/** The main part as HTML; where none can be told, all but what stands around it. */
function mainPart(document: PageDocument, body: PageElement, seen: number): PageElement {
  const copy = document.cloneNode(true) as PageDocument;
  const article = new Readability(copy as unknown as ReadabilityInput, {
    maxElemsToParse: ELEMENTS_MAX,
    charThreshold: 250,
  }).parse();
  const length = (article?.textContent ?? "").replace(/\s+/g, " ").trim().length;
  if (article?.content == null || length < seen * ARTICLE_SHARE) return body;
  return documentOf(`<html><body>${article.content}</body></html>`).body;
}

const TAG = /^<(\/?)([a-z][a-z0-9-]*)/i;
/** As much of a tag as is looked at. */
const TAG_CHARS_MAX = 2_048;

/** All tags, each from its `<` to the next `>`: every character is looked at once, whatever is open. */
function tagsOf(html: string): readonly string[] {
  const tags: string[] = [];
  for (let at = html.indexOf("<"); at >= 0; ) {
    const end = html.indexOf(">", at + 1);
    if (end < 0) break;
    tags.push(html.slice(at, Math.min(end + 1, at + TAG_CHARS_MAX)));
    at = html.indexOf("<", end + 1);
  }
  return tags;
}

const VOID = /^(area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr|p|li|td|tr|th|option|dt|dd)$/i;

/** Whether it is within what the library can take in its time: its work grows with the square of what is nested in what. */
function isTakable(tags: readonly string[]): boolean {
  let depth = 0;
  let elements = 0;
  for (const tag of tags) {
    const [, closes, name = ""] = TAG.exec(tag) ?? [];
    if (closes === undefined) continue;
    const closed = tag.endsWith("/>") ? "/" : "";
    if (closes === "/") depth = Math.max(0, depth - 1);
    else if (closed === "" && !VOID.test(name)) depth += 1;
    if (closes === "") elements += 1;
    if (depth > DEPTH_MAX || elements > ELEMENTS_MAX) return false;
  }
  return true;
}

/** Throws where the library cannot take the page: too many elements, or nested too deep. */
function documentIn(html: string, tags: readonly string[], url: string): PageDocument {
  if (html.length > PAGE_CHARS_MAX || !isTakable(tags))
    throw new RangeError("the page has too many elements, or nests them too deep");
  const document = documentOf(/<html[\s>]/i.test(html) ? html : `<html><body>${html}</body></html>`);
  const base = absolute(document.querySelector("base[href]")?.getAttribute("href") ?? null, url) ?? url;
  makeLinksAbsolute(document, base);
  return document;
}

/** Throws where the page cannot be taken apart. */
export function extractPage({ html, url, format, mainContent }: ExtractOrder): Extracted {
  const tags = tagsOf(html);
  const document = documentIn(html, tags, url);
  const title = titleOf(document);
  const walled = hasWallMark(html, tags);
  const body = (document.querySelector("body") ?? document.documentElement).cloneNode(true) as PageElement;
  for (const element of body.querySelectorAll(NEVER_SEEN)) element.remove();
  const scripted = isScripted(tags, document, body);
  const whole = mainContent ? (body.cloneNode(true) as PageElement) : body;
  if (mainContent) for (const element of whole.querySelectorAll(AROUND)) element.remove();
  // A page may have all it says in what stands around others.
  const around = charsOf(whole) === 0 ? body : whole;
  const visibleChars = charsOf(around);
  const part = mainContent ? mainPart(document, around, visibleChars) : around;
  return { content: written(part, format), title, facts: { visibleChars, scripted, walled } };
}

/** The links of a page, absolute, without fragments; the first of them. Throws as the above does. */
export function linksIn(html: string, url: string): readonly string[] {
  return linksOf(documentIn(html, tagsOf(html), url));
}

/** A text without blank lines, and with blanks once. */
function linesOf(text: string): string {
  const lines = text.split("\n").map((line) => line.replace(/\s+/g, " ").trim());
  return lines.filter((line) => line !== "").join("\n");
}

function written(part: PageElement, format: ExtractOrder["format"]): string {
  if (format === "html") return withoutHandlers(part).innerHTML.trim();
  if (format === "text") return linesOf(part.textContent ?? "");
  return turndown.turndown(part as unknown as TurndownService.Node).trim();
}

/** Nothing in what we give runs when it is shown. */
function withoutHandlers(part: PageElement): PageElement {
  for (const element of part.querySelectorAll("*")) {
    for (const name of element.getAttributeNames()) if (/^on/i.test(name)) element.removeAttribute(name);
  }
  return part;
}
