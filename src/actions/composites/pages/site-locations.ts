// The addresses in a site map. Runs in a worker thread, because a map may have any length.

const LOCATIONS_MAX = 5_000;
const LOCATION = /<loc>(?:\s|<!\[CDATA\[)*([^<\]\s]+)/gi;
/** Longer addresses cannot be requested. */
const LOCATION_CHARS_MAX = 2_048;
const MAPS_MAX = 100;
/** Bounds the sum of all addresses, which go back to the event loop. */
const ALL_CHARS_MAX = 524_288;

export interface SiteMap {
  /** An index: its addresses are those of other maps. */
  readonly isIndex: boolean;
  readonly locations: readonly string[];
}

export function locationsIn(map: string): SiteMap {
  const locations: string[] = [];
  let chars = 0;
  for (const [, url = ""] of map.matchAll(LOCATION)) {
    if (url.length > LOCATION_CHARS_MAX) continue;
    chars += url.length;
    if (locations.length === LOCATIONS_MAX || chars > ALL_CHARS_MAX) break;
    locations.push(url.replaceAll("&amp;", "&"));
  }
  const isIndex = /<sitemapindex/i.test(map);
  return { isIndex, locations: isIndex ? locations.slice(0, MAPS_MAX) : locations };
}
