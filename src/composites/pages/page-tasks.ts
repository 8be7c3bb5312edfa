// What the threads that read strangers' bytes are asked for: a page taken apart, the rules of a robots.txt, the addresses of a site's map.
import type { JudgedPage, PageOrder } from "./judged-page.ts";
import type { Robots } from "./robots.ts";
import type { SiteMap } from "./site-locations.ts";

/** Bytes as they came, and what their answer said of them. */
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

/** Null: it is too long, too deep or too slow to be read. `busy`: there is no room for it just now. */
export type Read<T> = T | "busy" | null;

/** What comes of each task. */
export interface PageDone {
  readonly page: JudgedPage;
  readonly text: JudgedPage;
  readonly links: readonly string[];
  readonly robots: Robots;
  readonly map: SiteMap;
}

/** By the header, else by what the first bytes say of themselves. */
function charsetOf({ bytes, contentType }: PageBytes): string {
  const named = /charset\s*=\s*["']?([\w.:-]+)/i;
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(2_048, bytes.length)).toString("latin1");
  return (named.exec(contentType.slice(0, 1_000)) ?? named.exec(head))?.[1] ?? "utf-8";
}

/** The text of a page, by the charset that it names or seems to have. */
export function decodedPage(page: PageBytes): string {
  try {
    return new TextDecoder(charsetOf(page)).decode(page.bytes);
  } catch {
    // A charset of a name that does not exist.
    return new TextDecoder().decode(page.bytes);
  }
}

/** How much a task weighs while it waits. */
export function bytesOf(task: PageTask): number {
  if (task.kind === "robots") return task.bytes.length;
  return typeof task.page === "string" ? task.page.length * 2 : task.page.bytes.length;
}
