// The search sources of core/onesearch as data: kinds of sources, and the actions that serve each kind.
import { z } from "zod";
import { actionId, fn, type JsonObject, place, pointer, type Said, some, tag, words } from "./said.ts";

/** A search by core/onesearch, in terms independent of the source. */
export interface SearchWanted {
  readonly query: string;
  /** How many results are useful. */
  readonly count: number;
  /** Today, and the earliest date of wanted results (null: any), as YYYY-MM-DD. */
  readonly today: string;
  readonly since: string | null;
  readonly domains: readonly string[];
  readonly excludeDomains: readonly string[];
  readonly fullText: boolean;
  readonly platform: string;
}

type Item = Readonly<Record<string, unknown>>;
/** Locates a field in a result item: a JSON pointer, or a function of the item. */
const itemPlace = z.union([pointer, fn<(item: Item) => unknown>()]);

const source = z.strictObject({
  /** `<adapter id>/<action>`. */
  action: actionId,
  /** Its params; null if it does not support this search. */
  params: fn<(wanted: SearchWanted) => JsonObject | null>(),
  /** Where the answer has its results, and where each result has its fields. */
  listAt: pointer,
  url: itemPlace,
  title: itemPlace,
  snippet: itemPlace.optional(),
  content: itemPlace.optional(),
  publishedAt: itemPlace.optional(),
});

/** A kind of source: actions are tried in order until one finds something. */
const facet = z.strictObject({
  /** What it finds, described for the classifier and for callers. */
  about: words,
  /** Matches queries that mean this facet, for use without a model. */
  words: z.instanceof(RegExp).optional(),
  sources: some(source, "has no source"),
  /** How many sources at the start are independent indexes: when time is short, the first available one races another vendor's. */
  racing: z.int().min(2).optional(),
  /** The full text of results is always fetched. */
  fullText: z.literal(true).optional(),
  /** Used only if the caller names it; its answer is returned unchanged. */
  raw: z.literal(true).optional(),
});

export const facets = z.strictObject({
  kind: z.literal("facets"),
  facets: z.record(tag, facet),
  /** How to read pages, by tags of the ladder in tiers/onescrape.ts: when escalating, and for pages that block all other readers. */
  scrape: some(tag),
  scrapeHard: some(tag),
  /** An archived copy of a page as of a date. */
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
