// The tasks of the threads that read untrusted bytes: a page, its links, a robots.txt, or a site map.
import { isAscii } from "node:buffer";
import { type ExtractOrder, extractPage } from "./extract-page.ts";
import type { PageDetails } from "./page-details.ts";
import type { Robots } from "./robots.ts";
import type { SiteMap } from "./site-locations.ts";
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

export interface PageBytes {
  readonly bytes: Uint8Array;
  readonly contentType: string;
}

export type PageTask =
  | { readonly kind: "page"; readonly page: string | PageBytes; readonly order: PageOrder }
  | { readonly kind: "text"; readonly page: PageBytes; readonly status: number | null }
  | { readonly kind: "links"; readonly page: PageBytes; readonly url: string }
  | { readonly kind: "robots"; readonly bytes: Uint8Array; readonly name: string }
  | { readonly kind: "map"; readonly page: PageBytes };

/** Null where it is too long, too deep or too slow to read. `busy`: no room now. */
export type Read<T> = T | "busy" | null;

export interface PageDone {
  readonly page: JudgedPage;
  readonly text: JudgedPage;
  readonly links: readonly string[];
  readonly robots: Robots;
  readonly map: SiteMap;
}

const NAMED_CHARSET = /charset\s*=\s*["']?([\w.:-]+)/i;
/** Encodings whose text can be valid UTF-8 by accident, because they use ASCII bytes or pairs of bytes. */
const OTHER_WAY = /^(?:utf-?16|iso-2022|hz-gb)/i;
/** This many non-ASCII bytes are not valid UTF-8 by accident. */
const BEYOND_ASCII_MIN = 6;

/** The charset of the header, then that in the page's first bytes. */
function charsetsOf({ bytes, contentType }: PageBytes): readonly string[] {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(2_048, bytes.length)).toString("latin1");
  const said = [NAMED_CHARSET.exec(contentType.slice(0, 1_000))?.[1], NAMED_CHARSET.exec(head)?.[1]];
  return said.filter((one) => one !== undefined);
}

function decodedAs(charset: string, bytes: Uint8Array): string | null {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    // The charset does not exist, or the bytes are not in it.
    return null;
  }
}

function hasBeyondAscii(bytes: Uint8Array, atLeast: number): boolean {
  if (isAscii(bytes)) return false;
  let count = 0;
  // By index: an iterator takes ten times as long.
  for (let at = 0; at < bytes.length && count < atLeast; at++) if ((bytes[at] ?? 0) >= 0x80) count += 1;
  return count === atLeast;
}

/** Decodes as UTF-8 if it is valid, whatever the page declares; else by the first declared charset that fits; else as well as possible. */
export function decodedPage(page: PageBytes): string {
  const { bytes } = page;
  const charsets = charsetsOf(page);
  const mayBeUtf8 = !charsets.some((one) => OTHER_WAY.test(one)) && hasBeyondAscii(bytes, BEYOND_ASCII_MIN);
  for (const charset of [...(mayBeUtf8 ? ["utf-8"] : []), ...charsets]) {
    const text = decodedAs(charset, bytes);
    if (text !== null) return text;
  }
  const [known] = charsets.filter(isKnown);
  return new TextDecoder(known ?? "utf-8").decode(bytes);
}

function isKnown(charset: string): boolean {
  try {
    return new TextDecoder(charset).encoding !== "";
  } catch {
    return false;
  }
}

export function bytesOf(task: PageTask): number {
  if (task.kind === "robots") return task.bytes.length;
  return typeof task.page === "string" ? task.page.length * 2 : task.page.bytes.length;
}
