// Judges what a rung brought: a wall, an empty shell, or a page, and how much of one. Pure.
import { SHELL_WORDS, WALL_PHRASES, WALL_WORDS } from "./wall-words.ts";

/** At this score no further rung is tried. */
export const ENOUGH = 0.35;
const FULL_CHARS = 1_000;
/** Walls are short; a longer text with a wall's words is about walls. */
const WALL_CHARS_MAX = 1_200;
/** The share of wall phrases that makes a text a wall; the lower one applies where it says so in several ways, or in its title too. */
const WALL_SHARE = 0.12;
const WALL_SHARE_WITH_MORE = 0.04;
/** The higher share for a text with only words that other pages use too: a page on rate limits has as many. */
const WALL_SHARE_OF_WORDS = 0.2;
/** The weight of such a word relative to a wall phrase. */
const WORD_WEIGHT = 0.5;
const TITLE_SHARE = 0.5;
/** Longer content of a row is cut. */
export const CONTENT_CHARS_MAX = 500_000;
/** Only this much of a content is judged: a page that begins with this much meaningless text is of no use to a reader. */
const JUDGED_CHARS_MAX = 32_768;
const SHELL_CHARS_MAX = 300;
/** A whole page has more than its name. */
const WHOLE_CHARS_MIN = 1;
const WHOLE_SHARE = 0.5;

/** What the page's own code shows, where we have it. */
export interface PageFacts {
  /** Characters that a reader of the whole page would see, without navigation. */
  readonly visibleChars: number;
  /** A script makes its body, and has not run or not finished. */
  readonly scripted: boolean;
  /** It contains a wall's code. */
  readonly walled: boolean;
  /** Text for machines alone was removed. */
  readonly hiddenText?: boolean;
  /** It is the beginning of paid content. */
  readonly teaser?: boolean;
}

export interface ReadPage {
  readonly content: string;
  readonly title: string | null;
  /** Null: read by a vendor, without the code. */
  readonly facts: PageFacts | null;
  /** The status of the page's own answer; null where unknown. */
  readonly status: number | null;
}

export type QualityFlag = "blocked" | "thin_content" | "hidden_text" | "paywall";

/** What was there instead of a page. */
export type Instead = "wall" | "shell" | "nothing" | "error_status";

export interface Yield {
  /** From 0 (a wall or an empty shell) to 1. */
  readonly score: number;
  readonly flags: readonly QualityFlag[];
  /** Present where the score is 0. */
  readonly instead?: Instead;
}

const noPage = (instead: Instead): Yield => ({ score: 0, flags: ["blocked"], instead });
const PLENTY: Yield = { score: 1, flags: [] };
/** Each part ends where another could begin, so that matching is linear. */
const LINK_TARGETS = /!?\[([^[\]]*)\]\([^()[\]]*\)/g;

/** Markdown as a reader sees it: without addresses and marks, whitespace collapsed. */
function readable(content: string): string {
  return content
    .replace(LINK_TARGETS, "$1")
    .replace(/[#*_`>|~-]+/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}

export function readableChars(content: string): number {
  return readable(content).length;
}

/** The first part of a content to examine; each further one is four times as long. */
const FIRST_LOOK_CHARS = 4_096;

/** Whether the beginning is too long for a wall or a shell. Then long pages cost no more than short ones. */
function isPlenty(content: string): boolean {
  for (let chars = FIRST_LOOK_CHARS; chars < content.length; chars *= 4) {
    const beginning = content.slice(0, chars);
    // A cut link would count with its address, which may be longer than the readable text.
    const linkAt = beginning.lastIndexOf("[");
    if (readableChars(linkAt < 0 ? beginning : beginning.slice(0, linkAt)) > WALL_CHARS_MAX) return true;
  }
  return false;
}

/**
 * The part of a content that is judged. Of a link whose address exceeds it, only the text counts. Each round skips at least as much as it
 * reads, so that the time is linear.
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

/** How many of these ways a text uses, and how many of its characters they cover. */
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

/** No word alone makes a wall: wall phrases must be a large share of a short text, or appear in several ways or in the title too. */
function soundsWalled(text: string, title: string): boolean {
  const phrases = said(text, WALL_PHRASES);
  const words = said(text, WALL_WORDS);
  const share = (phrases.chars + words.chars * WORD_WEIGHT) / text.length;
  if (share >= (phrases.ways > 0 ? WALL_SHARE : WALL_SHARE_OF_WORDS)) return true;
  const isTitled = title !== "" && said(title, WALL_PHRASES).chars >= title.length * TITLE_SHARE;
  const hasMore = isTitled || (phrases.ways > 0 && phrases.ways + words.ways > 1);
  return hasMore && share >= WALL_SHARE_WITH_MORE;
}

/** Adds flags to the score: text for machines alone was removed, or most of the page is for payers only. */
export function yieldOf(page: ReadPage): Yield {
  const judged = scoreOf(page);
  const { hiddenText = false, teaser = false } = page.facts ?? {};
  // A wall is not a teaser.
  const isTeaser = teaser && judged.instead === undefined;
  if (!hiddenText && !isTeaser) return judged;
  const more = [hiddenText ? ["hidden_text" as const] : [], isTeaser ? ["paywall" as const] : []].flat();
  return { ...judged, flags: [...judged.flags, ...more] };
}

/**
 * Zero for a wall, an error or an empty shell; else by readable length, and enough where a short page came whole. A wall counts as one
 * whatever its status: another rung may read a page that refused us with 403, but none can read one that is gone.
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
