// The rest of a long answer, stored in pages for an hour, for its payer only: any process can return them.
import { randomUUID } from "node:crypto";
import type { Records } from "../../platform/records/records.ts";

const KIND = "mcp-leftover";
const TTL_MS = 60 * 60 * 1000;
/** About 6,000 tokens: more at once would crowd out a model's own work. */
export const PAGE_CHARS_MAX = 24_000;
/** The limit per payer: the oldest pages are evicted first. */
const SHARE = { bytesMax: 64 * 1024 * 1024, full: "oldest_leave" } as const;
/** Longer answers are not stored. No vendor's answer is read beyond this. */
const BYTES_MAX = 33 * 1024 * 1024;
/** Pages are written in batches of this size: one long answer must not fill the store's queue. */
const PUTS_AT_ONCE = 64;

export interface Page {
  readonly text: string;
  /** The id of the next page; null: this is the last. */
  readonly next: string | null;
}

export interface Leftovers {
  /** The id of the first page; null: all pages together are too long, or the store is down. */
  keep(pages: readonly string[]): Promise<string | null>;
  /** Null: the id is unknown, or belongs to another payer. */
  take(id: string): Promise<Page | null>;
}

/** Splits a text into pages, never inside a surrogate pair. */
export function pagesOf(text: string): readonly string[] {
  const pages: string[] = [];
  for (let at = 0; at < text.length; ) {
    let end = Math.min(at + PAGE_CHARS_MAX, text.length);
    const last = text.charCodeAt(end - 1);
    if (end < text.length && last >= 0xd800 && last <= 0xdbff) end--;
    pages.push(text.slice(at, end));
    at = end;
  }
  return pages;
}

/** A page's id contains the number of pages, so that each can be found without the others. */
function pageId(name: string, at: number, count: number): string {
  return `${name}.${at}.${count}`;
}

function nextOf(id: string): string | null {
  const [name = "", at, count] = id.split(".");
  const next = Number(at) + 1;
  return next <= Number(count) ? pageId(name, next, Number(count)) : null;
}

export function leftoversOf(payer: string | null, records: Records): Leftovers {
  return {
    async keep(pages) {
      const bytes = pages.reduce((sum, page) => sum + Buffer.byteLength(page), 0);
      if (payer === null || pages.length === 0 || bytes > BYTES_MAX) return null;
      const name = `rest_${randomUUID()}`;
      const put = (value: string, at: number) => {
        const id = pageId(name, at + 1, pages.length);
        return records.put({ kind: KIND, id, payer, value, ttlMs: TTL_MS, ifVersion: 0, share: SHARE });
      };
      try {
        for (let from = 0; from < pages.length; from += PUTS_AT_ONCE) {
          const some = pages.slice(from, from + PUTS_AT_ONCE);
          const versions = await Promise.all(some.map((page, at) => put(page, from + at)));
          if (versions.includes(null)) return null;
        }
      } catch {
        return null;
      }
      return pageId(name, 1, pages.length);
    },
    async take(id) {
      const record = await records.get(KIND, id);
      if (record === null || payer === null || record.payer !== payer) return null;
      return { text: record.value, next: nextOf(id) };
    },
  };
}
