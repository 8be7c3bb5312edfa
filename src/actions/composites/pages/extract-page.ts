// Makes of a page's HTML what is read of it: its main text as Markdown or HTML, its title, and what its code says of it. Runs in a thread of its own.
import { AROUND, removeClutter } from "./clutter.ts";
import { mainPart } from "./main-part.ts";
import { markdownOf } from "./markdown.ts";
import { cutTables } from "./markdown-tables.ts";
import { openParts } from "./opened-parts.ts";
import { makeAddressesAbsolute } from "./page-addresses.ts";
import { detailsOf, type PageDetails } from "./page-details.ts";
import { bodyOf, charsOf, documentOf, tagsOf, textOf } from "./page-dom.ts";
import { PageStyles } from "./page-styles.ts";
import { elementOf, type PageElement } from "./page-tree.ts";
import { isTeaser } from "./paywall-marks.ts";
import { setApart } from "./set-apart.ts";
import { removeUnseen } from "./unseen-text.ts";
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
  readonly details: PageDetails;
}

const HEADINGS = "h1,h2,h3,h4,h5,h6";
const TITLE_CHARS_MAX = 500;
const HEADINGS_MAX = 10;
/** A shorter text may wait for a script, or be a wall: its title would be taken for a part of it. */
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

/** Whether there is nothing to read but what stands around, and lines that wait for more. */
function saysNothing(body: PageElement): boolean {
  const copy = body.cloneNode();
  for (const element of copy.querySelectorAll(`${AROUND},${HEADINGS},img`)) element.remove();
  return markdownOf(copy)
    .split("\n")
    .every((line) => line.trim() === "" || isWaiting(line));
}

/** What the code says before anything is taken out of it. */
interface Code {
  readonly scripts: number;
  readonly pleads: boolean;
  readonly tags: readonly string[];
}

function codeOf(document: PageElement, tags: readonly string[]): Code {
  const pleads = [...document.querySelectorAll("noscript")].some((one) => /java ?script/i.test(one.textContent));
  return { scripts: document.querySelectorAll("script").length, pleads, tags };
}

/** Whether a script was to make the body: it pleads for scripts, or shows the shape of what is to come, and says little else. */
function isScripted({ scripts, pleads, tags }: Code, body: PageElement): boolean {
  const seen = charsOf(body, SCRIPT_CHARS_MIN);
  if (scripts === 0 || seen >= SCRIPT_CHARS_MIN) return false;
  return seen === 0 || pleads || ((hasMount(tags) || hasSkeleton(tags)) && saysNothing(body));
}

/** A page as its readers see it, and what its code has said before anything was taken out of it. */
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

/** The heading of a page, which may stand outside its main part; the name of a site, which titles end with, is none. */
function headingOf(document: PageElement, title: string | null): string {
  const headings = [...document.querySelectorAll("h1")].slice(0, HEADINGS_MAX).map(textOf);
  const isSite = (text: string) => title !== null && text.length < title.length / 2 && title.endsWith(text);
  const said = headings.filter((text) => text !== "");
  if (said.length > 0) return said.find((text) => !isSite(text)) ?? "";
  // Without any, a longer text has its title, less the name of the site behind it.
  const own = charsOf(bodyOf(document), TITLED_CHARS_MIN) < TITLED_CHARS_MIN ? "" : (title ?? "");
  return own.split(BEHIND_TITLE)[0]?.trim() ?? "";
}

/** Its heading as the first line, where the main part begins below it. */
function withHeading(part: PageElement, heading: string): PageElement {
  if (heading === "" || part.querySelector("h1") !== null || textOf(part).includes(heading)) return part;
  const first = elementOf("h1");
  first.textContent = heading;
  part.prepend(first);
  return part;
}

/** Throws where the page cannot be taken apart. */
export function extractPage({ html, url, format, mainContent }: ExtractOrder): Extracted {
  const tags = tagsOf(html);
  const walled = hasWallMark(html, tags);
  const { document, title, details, code, hiddenText, teaser } = shownPage(html, tags, url);
  if (format === "markdown") cutTables(bodyOf(document));
  const scripted = isScripted(code, bodyOf(document));
  const heading = headingOf(document, title);
  if (mainContent) removeClutter(bodyOf(document));
  // A page may have all it says in what stands around others.
  const isEmptied = mainContent && charsOf(bodyOf(document), 1) === 0;
  const text = isEmptied ? shownPage(html, tags, url).document : document;
  const facts = { visibleChars: charsOf(bodyOf(text)), scripted, walled, hiddenText, teaser };
  const part = mainContent ? withHeading(mainPart(text), heading) : bodyOf(text);
  if (format !== "html") setApart(part);
  return { content: written(part, format), title, facts, details };
}

/** A text without blank lines, and with blanks once. */
function linesOf(text: string): string {
  const lines = text.split("\n").map((line) => line.replace(/\s+/g, " ").trim());
  return lines.filter((line) => line !== "").join("\n");
}

function written(part: PageElement, format: ExtractOrder["format"]): string {
  if (format === "html") return withoutHandlers(part).innerHTML.trim();
  if (format === "text") return linesOf(part.textContent);
  return markdownOf(part);
}

/** What browsers read as text, or run, whatever a parser has made of it. */
const UNSHOWN = "script,base,meta,noembed,noframes,noscript,xmp,plaintext,iframe,object,embed";
const ADDRESSES = /^(?:href|xlink:href|action|formaction|src)$/i;
/** Blanks and control characters within it are passed over by browsers. */
const RUNS = /^(?:javascript|vbscript|data):/i;
const isRunning = (name: string, value: string) =>
  ADDRESSES.test(name) && RUNS.test(value.replace(/[\0-\x20]/g, "").slice(0, 20)) && !/^data:image\//i.test(value);

/** Nothing in what we give runs when it is shown. */
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
