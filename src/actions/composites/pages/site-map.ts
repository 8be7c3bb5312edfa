// Lists a site's pages: by the action for that, else from its sitemap.xml, else from the links of its first page.
import { setImmediate } from "node:timers/promises";
import type { PageLadderSpec } from "../../../catalog/page-ladder.ts";
import { atPointer } from "../../../upstream/json-pointer.ts";
import { notAPage, readPageUrl } from "./page-url.ts";
import type { RungParts } from "./read-rung.ts";
import { fits } from "./robots.ts";

export interface Site {
  readonly url: string;
  readonly max_pages: number;
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

const SITEMAPS_MAX = 4;

/** `*` matches anything; a pattern without one matches a part of the address. Linear in the address, whatever the pattern. */
export function matchesGlob(pattern: string, text: string): boolean {
  if (!pattern.includes("*")) return text.includes(pattern);
  return text.startsWith(pattern.slice(0, pattern.indexOf("*"))) && fits(`${pattern}$`, text);
}

/** Yields to the event loop after this many addresses, because a site may name any number. */
const ADDRESSES_AT_ONCE = 25;

/** The pages to read: the first page, then matching pages of the same host, without repeats. */
export async function pagesOfSite(
  site: Site,
  found: readonly string[],
  ladder: PageLadderSpec,
): Promise<readonly string[]> {
  const seed = readPageUrl(site.url, () => true);
  if (!(seed instanceof URL)) return [];
  const pages = new Set([seed.href]);
  for (const [at, text] of found.entries()) {
    if (pages.size >= site.max_pages) break;
    if (at % ADDRESSES_AT_ONCE === ADDRESSES_AT_ONCE - 1) await setImmediate();
    const url = readPageUrl(text, () => true);
    if (!(url instanceof URL) || url.host !== seed.host || notAPage(url, ladder) !== null) continue;
    const { href } = url;
    if (site.include.length > 0 && !site.include.some((pattern) => matchesGlob(pattern, href))) continue;
    if (site.exclude.some((pattern) => matchesGlob(pattern, href))) continue;
    pages.add(href);
  }
  return [...pages];
}

async function byAction({ call, ladder, isServed }: RungParts, url: string): Promise<readonly string[]> {
  const { action, linksAt, urlAt } = ladder.map;
  if (!isServed(action)) return [];
  const answer = await call({ action, params: { url } });
  const links: unknown = answer.ok ? atPointer(answer.data, linksAt) : null;
  if (!Array.isArray(links)) return [];
  return links.map((link: unknown) => atPointer(link, urlAt)).filter((one) => typeof one === "string");
}

/** The addresses in a site's map, and in a few of the maps that it refers to. */
async function bySitemap({ direct, reading }: RungParts, seed: URL, signal: AbortSignal): Promise<readonly string[]> {
  const found: string[] = [];
  const maps = [`${seed.origin}/sitemap.xml`];
  for (let at = 0; at < maps.length && at < SITEMAPS_MAX; at++) {
    const fetched = await direct?.fetch(maps[at] ?? "", signal);
    const answer = fetched?.answer;
    if (answer?.kind !== "answer" || answer.status !== 200) continue;
    const map = await reading.map(answer.page, signal);
    if (map === null || map === "busy") continue;
    const { isIndex, locations } = map;
    // Follow only maps on the same host.
    if (isIndex) maps.push(...locations.filter((url) => URL.parse(url)?.host === seed.host));
    else found.push(...locations);
  }
  return found;
}

async function byLinks({ direct, reading }: RungParts, seed: URL, signal: AbortSignal): Promise<readonly string[]> {
  const fetched = await direct?.fetch(seed.href, signal);
  const answer = fetched?.answer;
  if (answer?.kind !== "answer" || answer.status !== 200) return [];
  const links = await reading.links(answer.page, answer.finalUrl, signal);
  return links === null || links === "busy" ? [] : links;
}

/** The known addresses of a site; empty where none could be found. */
export async function mapSite(site: Site, parts: RungParts, signal: AbortSignal): Promise<readonly string[]> {
  const seed = readPageUrl(site.url, () => true);
  if (!(seed instanceof URL)) return [];
  const listed = await byAction(parts, seed.href);
  // One page alone is no list; the site's own map may have more.
  if (listed.length > 1) return listed;
  const mapped = await bySitemap(parts, seed, signal);
  return mapped.length > 0 ? mapped : byLinks(parts, seed, signal);
}
