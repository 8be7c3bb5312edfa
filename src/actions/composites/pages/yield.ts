// Judges what a rung has brought: a wall, an empty shell, or a page, and how much of one. A pure function of what was read.
import { SHELL_WORDS, WALL_PHRASES, WALL_WORDS } from "./wall-words.ts";

/** From here on no further rung is asked. */
export const ENOUGH = 0.35;
const FULL_CHARS = 1_000;
/** Walls say what they say in few words; a long text that has such words is about them. */
const WALL_CHARS_MAX = 1_200;
/** So much of a wall's text is what walls say; where it says so in several ways, or in its title too, so much less. */
const WALL_SHARE = 0.12;
const WALL_SHARE_WITH_MORE = 0.04;
/** Where it says nothing that walls alone say, so much more: a page on rate limits has as many of their words. */
const WALL_SHARE_OF_WORDS = 0.2;
/** What a page may say that is about something else weighs so much less than what walls alone say. */
const WORD_WEIGHT = 0.5;
const TITLE_SHARE = 0.5;
/** Longer content of a row is cut. */
export const CONTENT_CHARS_MAX = 500_000;
/** No more of a content is judged: what begins with so many characters and says nothing is no page for a reader. */
const JUDGED_CHARS_MAX = 32_768;
const SHELL_CHARS_MAX = 300;
/** A page of its own is more than the name of it. */
const WHOLE_CHARS_MIN = 1;
const WHOLE_SHARE = 0.5;

/** What the page's own code says, where we have it. */
export interface PageFacts {
  /** Characters that a reader of the whole page would see, navigation left out. */
  readonly visibleChars: number;
  /** Its body is made by a script that has not run, or has not come to its end. */
  readonly scripted: boolean;
  /** It has the code of a wall in it. */
  readonly walled: boolean;
  /** Some of its text was written for machines alone, and left out. */
  readonly hiddenText?: boolean;
  /** It is the beginning of what its readers pay for. */
  readonly teaser?: boolean;
}

export interface ReadPage {
  readonly content: string;
  readonly title: string | null;
  /** Null: a vendor has read it, and says nothing of its code. */
  readonly facts: PageFacts | null;
  /** Of the page's own answer; null: not known. */
  readonly status: number | null;
}

export type QualityFlag = "blocked" | "thin_content" | "hidden_text" | "paywall";

/** What stands there instead of a page. */
export type Instead = "wall" | "shell" | "nothing" | "error_status";

export interface Yield {
  /** From 0, a wall or an empty shell, to 1. */
  readonly score: number;
  readonly flags: readonly QualityFlag[];
  /** Where its score is 0. */
  readonly instead?: Instead;
}

const noPage = (instead: Instead): Yield => ({ score: 0, flags: ["blocked"], instead });
const PLENTY: Yield = { score: 1, flags: [] };
/** Each part ends where another could begin, so that no text takes longer than it is long. */
const LINK_TARGETS = /!?\[([^[\]]*)\]\([^()[\]]*\)/g;

/** What is left of Markdown for a reader: no addresses, no marks, blanks once. */
function readable(content: string): string {
  return content
    .replace(LINK_TARGETS, "$1")
    .replace(/[#*_`>|~-]+/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}

/** How many characters of a content a reader reads. */
export function readableChars(content: string): number {
  return readable(content).length;
}

/** So much of a content is read first; where that is not plenty, four times as much. */
const FIRST_LOOK_CHARS = 4_096;

/** Its beginning alone is too long for a wall or a shell, and enough: what comes behind changes nothing. Long pages cost no more than short ones. */
function isPlenty(content: string): boolean {
  for (let chars = FIRST_LOOK_CHARS; chars < content.length; chars *= 4) {
    const beginning = content.slice(0, chars);
    // A link that is cut off would count with its address, which may be longer than all that can be read.
    const linkAt = beginning.lastIndexOf("[");
    if (readableChars(linkAt < 0 ? beginning : beginning.slice(0, linkAt)) > WALL_CHARS_MAX) return true;
  }
  return false;
}

/**
 * As much of a content as is judged. A link whose address goes on beyond that is passed over but for its text: each turn leaves at least
 * as much behind as it looks at, so that no content takes longer than it is long.
 */
function judged(content: string): string {
  let text = "";
  for (let at = 0; at < content.length && text.length < JUDGED_CHARS_MAX; ) {
    const piece = content.slice(at, at + JUDGED_CHARS_MAX - text.length);
    const address = piece.lastIndexOf("](");
    const isCut = at + piece.length < content.length && address >= 0 && piece.indexOf(")", address) < 0;
    if (!isCut) return text + piece;
    const label = piece.lastIndexOf("[", address);
    const before = piece.slice(0, Math.max(0, label)).replace(/!$/, "");
    text += before + piece.slice(label + 1, address);
    const end = content.indexOf(")", at + piece.length);
    if (end < 0) break;
    at = end + 1;
  }
  return text;
}

/** How many ways of saying something a text knows, and how many of its characters those are. */
function said(text: string, ways: readonly RegExp[]): { readonly ways: number; readonly chars: number } {
  const marks = new Uint8Array(text.length);
  let count = 0;
  for (const way of ways) {
    let isSaid = false;
    for (const { 0: words, index } of text.matchAll(way)) {
      marks.fill(1, index, index + words.length);
      isSaid = true;
    }
    if (isSaid) count += 1;
  }
  return { ways: count, chars: marks.reduce((sum, mark) => sum + mark, 0) };
}

/**
 * Whether a short text is a wall by its words. No word decides alone: what walls say is a good part of all that is said, or it is said in
 * more than one way, or by the title too.
 */
function soundsWalled(text: string, title: string): boolean {
  const phrases = said(text, WALL_PHRASES);
  const words = said(text, WALL_WORDS);
  const share = (phrases.chars + words.chars * WORD_WEIGHT) / text.length;
  if (share >= (phrases.ways > 0 ? WALL_SHARE : WALL_SHARE_OF_WORDS)) return true;
  const isTitled = title !== "" && said(title, WALL_PHRASES).chars >= title.length * TITLE_SHARE;
  const hasMore = isTitled || (phrases.ways > 0 && phrases.ways + words.ways > 1);
  return hasMore && share >= WALL_SHARE_WITH_MORE;
}

/** What is said of a page beside its score: a text for machines alone was left out, or most of it is for those who pay, whatever the rest is worth. */
export function yieldOf(page: ReadPage): Yield {
  const judged = scoreOf(page);
  const { hiddenText = false, teaser = false } = page.facts ?? {};
  // A wall is no beginning of anything.
  const isTeaser = teaser && judged.instead === undefined;
  if (!hiddenText && !isTeaser) return judged;
  const more = [hiddenText ? ["hidden_text" as const] : [], isTeaser ? ["paywall" as const] : []].flat();
  return { ...judged, flags: [...judged.flags, ...more] };
}

/**
 * Zero for a wall, an error or an empty shell; else readable characters by the thousand, and enough where a short page came whole. A wall is
 * one whatever status it has: a page that turns us away with 403 can be read by another rung, one that is gone by none.
 */
function scoreOf({ content: whole, title, facts, status }: ReadPage): Yield {
  const isError = status !== null && status >= 400;
  const content = judged(whole);
  if (isPlenty(content)) return isError ? noPage("error_status") : PLENTY;
  const text = readable(content);
  const isWalled = facts?.walled === true;
  const isEmpty = text.length < WHOLE_CHARS_MIN;
  if (isEmpty ? isWalled : text.length < WALL_CHARS_MAX && (isWalled || soundsWalled(text, title ?? "")))
    return noPage("wall");
  if (isError) return noPage("error_status");
  if (isEmpty) return noPage(facts?.scripted === true ? "shell" : "nothing");
  if (text.length < SHELL_CHARS_MAX && (facts?.scripted === true || SHELL_WORDS.test(text))) return noPage("shell");
  const byLength = Math.min(1, text.length / FULL_CHARS);
  const isWhole = facts !== null && !facts.scripted && text.length >= facts.visibleChars * WHOLE_SHARE;
  const score = isWhole ? Math.max(byLength, ENOUGH) : byLength;
  return { score, flags: score < ENOUGH ? ["thin_content"] : [] };
}
