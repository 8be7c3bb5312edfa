// Extracts from a page's HTML its main text as Markdown or HTML, its title, and facts from its code. Runs in a worker thread.
import { AROUND, removeClutter } from "./clutter.ts";
import { mainPart } from "./main-part.ts";
import { markdownOf } from "./markdown.ts";
import { cutTables } from "./markdown-tables.ts";
import { openParts } from "./opened-parts.ts";
import { makeAddressesAbsolute } from "./page-addresses.ts";
import { detailsOf, type PageDetails } from "./page-details.ts";
import { bodyOf, charsOf, documentOf, tagsOf, textOf } from "./page-dom.ts";
import { PageStyles } from "./page-styles.ts";
import { elementOf, type PageElement, parsed } from "./page-tree.ts";
import { isTeaser } from "./paywall-marks.ts";
import { setApart } from "./set-apart.ts";
import { removeUnseen } from "./unseen-text.ts";
import { hasMount, hasSkeleton, hasWallMark, isWaiting } from "./wall-words.ts";
import type { PageFacts } from "./yield.ts";

export interface ExtractOrder {
  readonly html: string;
  /** The base of relative links. */
  readonly url: string;
  readonly format: "markdown" | "html" | "text";
  readonly mainContent: boolean;
}

export interface Extracted {
  readonly content: string;
  readonly title: string | null;
  readonly facts: PageFacts;
  readonly details: PageDetails;
}

const HEADINGS = "h1,h2,h3,h4,h5,h6";
const TITLE_CHARS_MAX = 500;
const HEADINGS_MAX = 10;
/** A shorter text may be a wall or wait for a script: its title, added as a heading, would count as content. */
const TITLED_CHARS_MIN = 300;
const BEHIND_TITLE = / [|–—·] /;
const SCRIPT_CHARS_MIN = 200;

function titleOf(document: PageElement): string | null {
  const said = [
    textOf(document.querySelector("head title,html > title,body > title")),
    (document.querySelector('meta[property="og:title"]')?.getAttribute("content") ?? "").replace(/\s+/g, " ").trim(),
    textOf(document.querySelector("h1")),
  ];
  return said.find((one) => one !== "")?.slice(0, TITLE_CHARS_MAX) ?? null;
}

/** Whether a page has no text but navigation and the like, headings and loading messages. */
function saysNothing(body: PageElement): boolean {
  const copy = parsed(body.innerHTML);
  for (const element of copy.querySelectorAll(`${AROUND},${HEADINGS},img`)) element.remove();
  return markdownOf(copy)
    .split("\n")
    .every((line) => line.trim() === "" || isWaiting(line));
}

/** Facts about the code, taken before anything is removed from it. */
interface Code {
  readonly scripts: number;
  readonly pleads: boolean;
  readonly tags: readonly string[];
}

function codeOf(document: PageElement, tags: readonly string[]): Code {
  const pleads = [...document.querySelectorAll("noscript")].some((one) => /java ?script/i.test(one.textContent));
  return { scripts: document.querySelectorAll("script").length, pleads, tags };
}

/** Whether a script should have filled the body: it asks for JavaScript, or shows an empty app or skeleton, and has little text. */
function isScripted({ scripts, pleads, tags }: Code, body: PageElement): boolean {
  const seen = charsOf(body, SCRIPT_CHARS_MIN);
  if (scripts === 0 || seen >= SCRIPT_CHARS_MIN) return false;
  return seen === 0 || pleads || ((hasMount(tags) || hasSkeleton(tags)) && saysNothing(body));
}

/** A page as readers see it, with facts taken before anything was removed. */
interface ShownPage {
  readonly document: PageElement;
  readonly title: string | null;
  readonly details: PageDetails;
  readonly code: Code;
  readonly hiddenText: boolean;
  readonly teaser: boolean;
}

function shownPage(html: string, tags: readonly string[], url: string): ShownPage {
  const document = documentOf(html, tags);
  const code = codeOf(document, tags);
  openParts(document);
  makeAddressesAbsolute(document, url);
  const [title, { details, paid }] = [titleOf(document), detailsOf(document)];
  const styles = new PageStyles(document);
  const hiddenText = removeUnseen(bodyOf(document), styles);
  return { document, title, details, code, hiddenText, teaser: isTeaser(bodyOf(document), paid) };
}

/** The page's heading, which may be outside the main part. Ignores the site's name, with which titles end. */
function headingOf(document: PageElement, title: string | null): string {
  const headings = [...document.querySelectorAll("h1")].slice(0, HEADINGS_MAX).map(textOf);
  const isSite = (text: string) => title !== null && text.length < title.length / 2 && title.endsWith(text);
  const said = headings.filter((text) => text !== "");
  if (said.length > 0) return said.find((text) => !isSite(text)) ?? "";
  // Without a heading, a longer text gets its title, less the site's name.
  const own = charsOf(bodyOf(document), TITLED_CHARS_MIN) < TITLED_CHARS_MIN ? "" : (title ?? "");
  return own.split(BEHIND_TITLE)[0]?.trim() ?? "";
}

function withHeading(part: PageElement, heading: string): PageElement {
  if (heading === "" || part.querySelector("h1") !== null || textOf(part).includes(heading)) return part;
  const first = elementOf("h1");
  first.textContent = heading;
  part.prepend(first);
  return part;
}

/** Throws where the page cannot be parsed. */
export function extractPage({ html, url, format, mainContent }: ExtractOrder): Extracted {
  const tags = tagsOf(html);
  const walled = hasWallMark(html, tags);
  const { document, title, details, code, hiddenText, teaser } = shownPage(html, tags, url);
  if (format === "markdown") cutTables(bodyOf(document));
  const scripted = isScripted(code, bodyOf(document));
  const heading = headingOf(document, title);
  if (mainContent) removeClutter(bodyOf(document));
  // All of a page's text may be in elements that are clutter elsewhere.
  const isEmptied = mainContent && charsOf(bodyOf(document), 1) === 0;
  const text = isEmptied ? shownPage(html, tags, url).document : document;
  const facts = { visibleChars: charsOf(bodyOf(text)), scripted, walled, hiddenText, teaser };
  const part = mainContent ? withHeading(mainPart(text), heading) : bodyOf(text);
  if (format !== "html") setApart(part);
  return { content: written(part, format), title, facts, details };
}

function linesOf(text: string): string {
  const lines = text.split("\n").map((line) => line.replace(/\s+/g, " ").trim());
  return lines.filter((line) => line !== "").join("\n");
}

function written(part: PageElement, format: ExtractOrder["format"]): string {
  if (format === "html") return withoutHandlers(part).innerHTML.trim();
  if (format === "text") return linesOf(part.textContent);
  return markdownOf(part);
}

/** Elements that browsers run, or treat as text whatever our parser made of them. */
const UNSHOWN = "script,base,meta,noembed,noframes,noscript,xmp,plaintext,iframe,object,embed";
const ADDRESSES = /^(?:href|xlink:href|action|formaction|src)$/i;
/** Browsers ignore whitespace and control characters within the scheme. */
const RUNS = /^(?:javascript|vbscript|data):/i;
const isRunning = (name: string, value: string) =>
  ADDRESSES.test(name) && RUNS.test(value.replace(/[\0-\x20]/g, "").slice(0, 20)) && !/^data:image\//i.test(value);

/** Removes everything that could run when our output is displayed. */
function withoutHandlers(part: PageElement): PageElement {
  for (const element of part.querySelectorAll(UNSHOWN)) element.remove();
  for (const element of part.querySelectorAll("*")) {
    for (const name of element.getAttributeNames()) {
      const value = element.getAttribute(name) ?? "";
      if (/^(?:on|srcdoc$)/i.test(name) || isRunning(name, value)) element.removeAttribute(name);
    }
  }
  return part;
}
