// What core/onesearch looks for where, as data: kinds of sources, and the actions that answer for each.
import { z } from "zod";
import { actionId, fn, type JsonObject, place, pointer, type Said, some, tag, words } from "./said.ts";

/** What the sources of core/onesearch are asked, in neutral words. */
export interface SearchWanted {
  readonly query: string;
  /** How many results are of use. */
  readonly count: number;
  /** Today, and the day since which results are wanted (null: of any age), as YYYY-MM-DD. */
  readonly today: string;
  readonly since: string | null;
  readonly domains: readonly string[];
  readonly excludeDomains: readonly string[];
  /** The whole text of what is found is wanted. */
  readonly fullText: boolean;
  /** The social network, for the facet that asks one. */
  readonly platform: string;
}

type Item = Readonly<Record<string, unknown>>;
/** Where something is in an item of an answer: a JSON pointer from the item, or what the item makes of it. */
const itemPlace = z.union([pointer, fn<(item: Item) => unknown>()]);

/** One action that can answer for a facet. */
const source = z.strictObject({
  /** `<adapter id>/<action>`. */
  action: actionId,
  /** Its params; null: it cannot be asked this. */
  params: fn<(wanted: SearchWanted) => JsonObject | null>(),
  /** Where its answer has the results, and each of them what. */
  listAt: pointer,
  url: itemPlace,
  title: itemPlace,
  snippet: itemPlace.optional(),
  content: itemPlace.optional(),
  publishedAt: itemPlace.optional(),
});

/** A kind of source: tried in order, the first that finds something answers. */
const facet = z.strictObject({
  /** What it finds, in words for the classifier and for callers. */
  about: words,
  /** What a query says that means this facet, where no model chooses. */
  words: z.instanceof(RegExp).optional(),
  sources: some(source, "has no source"),
  /** So many of the first are indexes of their own: where time is short, two of them race, the first that can be asked and the next of another vendor. */
  racing: z.int().min(2).optional(),
  /** The whole text of what is found is always fetched. */
  fullText: z.literal(true).optional(),
  /** Asked only where the caller names it, and what it answers is given as it came. */
  raw: z.literal(true).optional(),
});

export const facets = z.strictObject({
  kind: z.literal("facets"),
  facets: z.record(tag, facet),
  /** How pages are read, by tags of the ladder in tiers/onescrape.ts: as escalation, and for pages that turn all others away. */
  scrape: some(tag),
  scrapeHard: some(tag),
  /** The copy of a page as it was on a day. */
  archive: z.strictObject({
    action: actionId,
    contentAt: place,
    params: fn<(url: string, day: string) => JsonObject>(),
  }),
});

export type Place = Said<z.infer<typeof itemPlace>>;
export type SourceSpec = Said<z.infer<typeof source>>;
export type FacetSpec = Said<z.infer<typeof facet>>;
export type FacetsSpec = Said<z.infer<typeof facets>>;
