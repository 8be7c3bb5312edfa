// The addresses that a site's map names. Runs in a thread of its own: a map is as long as its site wants.

/** As many addresses of one map as are looked at. */
const LOCATIONS_MAX = 5_000;
const LOCATION = /<loc>(?:\s|<!\[CDATA\[)*([^<\]\s]+)/gi;
/** A longer one is no address that anybody can ask. */
const LOCATION_CHARS_MAX = 2_048;

export interface SiteMap {
  /** Its addresses are those of other maps. */
  readonly isIndex: boolean;
  readonly locations: readonly string[];
}

export function locationsIn(map: string): SiteMap {
  const locations: string[] = [];
  for (const [, url = ""] of map.matchAll(LOCATION)) {
    if (url.length <= LOCATION_CHARS_MAX) locations.push(url.replaceAll("&amp;", "&"));
    if (locations.length === LOCATIONS_MAX) break;
  }
  return { isIndex: /<sitemapindex/i.test(map), locations };
}
