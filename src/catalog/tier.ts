// All that a file in tiers/ may import: an alias we sell and its candidates in order of preference, and what our composites try in which order.
import type { ActionFacts, JsonObject } from "./action.ts";
import type { PeopleFinderSpec } from "./people-finder.ts";

export { z } from "zod";
export { goesWith, neededWhen, needsOne, noneWhen, notBoth, onlyWhen } from "./params-rules.ts";

/** One model of a tier, by slug; each configured vendor of it is a candidate, the maker's own first. */
export interface TierModel {
  readonly model: string;
}

export interface TierSpec {
  /** What the tier is for, in a sentence people read in the price list. */
  readonly purpose: string;
  readonly candidates: readonly [TierModel, ...TierModel[]];
  /**
   * What names begin with that mean this tier where no model of such a name is configured: agents ask for models by names of
   * their own. The longest beginning of all tiers counts.
   */
  readonly standsInFor?: readonly string[];
  /** The tier that serves in this one's place where a budget has come to where its owner wants that; left out: this one goes on. */
  readonly lower?: string;
  /** How long a streamed candidate may take to its first content while another remains. */
  readonly firstTokenMsMax: number;
}

/** An action of a vendor that can serve the tier's params. */
export interface TierAction {
  /** `<adapter id>/<action>`. */
  readonly action: string;
  /** The tier's name of a param -> the action's. */
  readonly names?: Readonly<Record<string, string>>;
  /** Params of the tier that this one has no answer to: a call that sets one of them goes to another. */
  readonly lacks?: readonly string[];
}

/** An action we sell under a name of our own, served by the first candidate that can. Its price is its own. */
export interface ActionTierSpec<P = Readonly<Record<string, unknown>>> extends ActionFacts<P> {
  /** `<service>/<action>`. */
  readonly sells: string;
  readonly candidates: readonly [TierAction, ...TierAction[]];
  /** The param by which a caller asks for one candidate alone, by its adapter's id; then no other takes over. */
  readonly pinnedBy?: string;
  /** The field of `data` that names the adapter which served. */
  readonly servedAs?: string;
  readonly example: { readonly params: JsonObject };
}

/** Gives a tier its types. What it says is checked when the catalog loads. */
export function defineTier(spec: TierSpec): TierSpec {
  return spec;
}

/** Gives a tier of actions its types; outside of its file those of its params are forgotten. */
export function defineActionTier<P>(spec: ActionTierSpec<P>): ActionTierSpec {
  return spec as unknown as ActionTierSpec;
}

/** What one call of a rung is to read. */
export interface PagesWanted {
  readonly urls: readonly string[];
  readonly format: "markdown" | "html";
  /** Without navigation and what else is on every page of the site. */
  readonly mainContent: boolean;
}

/** Where the answer of a rung's action has what a page row says: JSON pointers, from the item of the page where there is a list. */
export interface RungAnswer {
  /** The list of pages, each with its address at `urlAt`; left out where the answer is of one page. */
  readonly listAt?: string;
  readonly urlAt?: string;
  readonly contentAt: string;
  /** What is there: `page` is the HTML as it came, of which we give the text where markdown was asked for. */
  readonly holds: "markdown" | "html" | "text" | "page";
  readonly titleAt?: string;
  readonly finalUrlAt?: string;
}

/** One way to read a page. */
export interface RungSpec {
  /** What rows name it by. */
  readonly tag: string;
  /** What a deep job pays for a page that this rung has read; of several pages in one call, for the call. */
  readonly cents: number;
  /** It gets past walls, and only deep jobs go so far. */
  readonly hard?: true;
  /** How many pages one call reads at the most. Default 1. */
  readonly pagesMax?: number;
  /** The action for each format that it has; neither: our own fetch. */
  readonly markdown?: RungCall;
  readonly html?: RungCall;
}

export interface RungCall {
  /** `<adapter id>/<action>`. */
  readonly action: string;
  params(wanted: PagesWanted): JsonObject;
  readonly answer: RungAnswer;
}

/** How pages are read: rung by rung, until one gives what is readable. */
export interface PageLadderSpec {
  readonly kind: "page-ladder";
  readonly rungs: readonly [RungSpec, ...RungSpec[]];
  /** The action that lists the pages of a site; where it is not served, we read the site's own map. */
  readonly map: { readonly action: string; readonly cents: number; readonly linksAt: string; readonly urlAt: string };
  /** Domains, with all below them, whose pages are posts and profiles: other actions sell those. */
  readonly socialDomains: readonly string[];
  /** Endings of paths that are documents and no pages. */
  readonly documentEndings: readonly string[];
  /** Media types that are. */
  readonly documentTypes: readonly string[];
}

/** Gives a ladder of rungs its types. */
export function definePageLadder(spec: Omit<PageLadderSpec, "kind">): PageLadderSpec {
  return { kind: "page-ladder", ...spec };
}

/** Gives a finder of people its types. */
export function definePeopleFinder(spec: Omit<PeopleFinderSpec, "kind">): PeopleFinderSpec {
  return { kind: "people-finder", ...spec };
}

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

/** Where something is in an item of an answer: a JSON pointer from the item, or what the item makes of it. */
export type Place = string | ((item: Readonly<Record<string, unknown>>) => unknown);

/** One action that can answer for a facet. */
export interface SourceSpec {
  /** `<adapter id>/<action>`. */
  readonly action: string;
  /** Its params; null: it cannot be asked this. */
  params(wanted: SearchWanted): JsonObject | null;
  /** Where its answer has the results, and each of them what. */
  readonly listAt: string;
  readonly url: Place;
  readonly title: Place;
  readonly snippet?: Place;
  readonly content?: Place;
  readonly publishedAt?: Place;
}

/** A kind of source: tried in order, the first that finds something answers. */
export interface FacetSpec {
  /** What it finds, in words for the classifier and for callers. */
  readonly about: string;
  /** What a query says that means this facet, where no model chooses. */
  readonly words?: RegExp;
  readonly sources: readonly [SourceSpec, ...SourceSpec[]];
  /** So many of the first are indexes of their own: where time is short, two of them race, the first that can be asked and the next of another vendor. */
  readonly racing?: number;
  /** The whole text of what is found is always fetched. */
  readonly fullText?: true;
  /** Asked only where the caller names it, and what it answers is given as it came. */
  readonly raw?: true;
}

/** What core/onesearch looks for where. */
export interface FacetsSpec {
  readonly kind: "facets";
  readonly facets: Readonly<Record<string, FacetSpec>>;
  /** How pages are read, by tags of the ladder in tiers/onescrape.ts: as escalation, and for pages that turn all others away. */
  readonly scrape: readonly [string, ...string[]];
  readonly scrapeHard: readonly [string, ...string[]];
  /** The copy of a page as it was on a day. */
  readonly archive: {
    readonly action: string;
    readonly contentAt: string;
    params(url: string, day: string): JsonObject;
  };
}

/** Gives facets their types. */
export function defineFacets(spec: Omit<FacetsSpec, "kind">): FacetsSpec {
  return { kind: "facets", ...spec };
}

/** An action that can serve a tool which vendors run themselves. Places are JSON pointers, those of a result from the result. */
export interface HostedSource {
  /** `<service>/<action>`. */
  readonly action: string;
  params(wanted: { readonly asked: string }): JsonObject;
  readonly listAt: string;
  readonly url: string;
  readonly title: string;
  readonly text: string;
}

/** One such tool, as a model is told of it. */
export interface HostedToolSpec {
  readonly about: string;
  /** Its one param. */
  readonly takes: "query" | "url";
  /** The first that is configured serves. */
  readonly sources: readonly [HostedSource, ...HostedSource[]];
}

/** What serves the tools of wires that vendors run themselves, to models whose vendor does not. */
export interface HostedToolsSpec {
  readonly kind: "hosted-tools";
  readonly web_search: HostedToolSpec;
  readonly web_fetch: HostedToolSpec;
}

/** Gives hosted tools their types. */
export function defineHostedTools(spec: Omit<HostedToolsSpec, "kind">): HostedToolsSpec {
  return { kind: "hosted-tools", ...spec };
}

/** Who makes the parts of a demo video. */
export interface DemoMakerSpec {
  readonly kind: "demo-maker";
  /** The tier or model that writes storyboards. */
  readonly writer: string;
  /** The model that speaks, and its voice where the caller names none. */
  readonly speaker: { readonly model: string; readonly voice: string };
  /** A vendor's browser that is paid before it runs, for operators who have none of their own. Places are JSON pointers. */
  readonly browser: {
    readonly begin: { readonly action: string; readonly params: JsonObject; readonly connectAt: string };
    /** Ends it by its id, which is at `idAt` of what began it. */
    readonly end: { readonly action: string; readonly param: string; readonly idAt: string };
  };
}

/** Gives a maker of demos its types. */
export function defineDemoMaker(spec: Omit<DemoMakerSpec, "kind">): DemoMakerSpec {
  return { kind: "demo-maker", ...spec };
}

/** What one of our composites goes by; `kind` tells them apart. */
export type CompositeTierSpec = PageLadderSpec | PeopleFinderSpec | FacetsSpec | HostedToolsSpec | DemoMakerSpec;
