// The threads' result for a page: its content, cut to what a row keeps, with a judgement made where it was read.
import { type ExtractOrder, extractPage } from "./extract-page.ts";
import type { PageDetails } from "./page-details.ts";
import { decodedPage, type PageBytes } from "./page-tasks.ts";
import { CONTENT_CHARS_MAX, type Yield, yieldOf } from "./yield.ts";

export interface PageOrder extends Omit<ExtractOrder, "html"> {
  /** The status of the page's own answer; null where unknown. */
  readonly status: number | null;
  /** Its scripts have run already, so nothing more will appear. */
  readonly hasRun: boolean;
}

export interface JudgedPage {
  readonly content: string;
  readonly title: string | null;
  readonly judged: Yield;
  readonly details: PageDetails;
}

/** More than a row keeps of a text, in any script. */
const TEXT_BYTES_MAX = 2 * 1_048_576;

/** One character more than a row keeps, which tells the row that it must cut. */
const kept = (content: string) => content.slice(0, CONTENT_CHARS_MAX + 1);

/** Throws where the page cannot be parsed. */
export function judgedPage(page: string | PageBytes, { status, hasRun, ...order }: PageOrder): JudgedPage {
  const html = typeof page === "string" ? page : decodedPage(page);
  const { content: whole, title, facts: seen, details } = extractPage({ html, ...order });
  const content = kept(whole);
  const facts = hasRun ? { ...seen, scripted: false } : seen;
  return { content, title, details, judged: yieldOf({ content, title, facts, status }) };
}

export function judgedText(page: PageBytes, status: number | null): JudgedPage {
  const content = kept(decodedPage({ ...page, bytes: page.bytes.subarray(0, TEXT_BYTES_MAX) }));
  const facts = { visibleChars: content.length, scripted: false, walled: false };
  return { content, title: null, details: {}, judged: yieldOf({ content, title: null, facts, status }) };
}
