// The addresses that a site's map names. Runs in a thread of its own: a map is as long as its site wants.

/** As many addresses of one map as are looked at. */
const LOCATIONS_MAX = 5_000;
const LOCATION = /<loc>(?:\s|<!\[CDATA\[)*([^<\]\s]+)/gi;
/** A longer one is no address that anybody can ask. */
const LOCATION_CHARS_MAX = 2_048;
/** As many other maps of an index. */
const MAPS_MAX = 100;
/** Of all of them together: they go back to the event loop. */
const ALL_CHARS_MAX = 524_288;

export interface SiteMap {
  /** Its addresses are those of other maps. */
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
