// All that a file in tiers/ may import: an alias we sell and its candidates in order of preference, and what our composites try in which order.
import { z } from "zod";
import { type ActionFacts, facts } from "./action.ts";
import { type FacetsSpec, facets } from "./facets.ts";
import { type PageLadderSpec, pageLadder } from "./page-ladder.ts";
import { actionsOfPeopleFinder, type PeopleFinderSpec, peopleFinder } from "./people-finder.ts";
import { actionId, count, fn, type JsonObject, jsonObject, place, type Said, some, words } from "./said.ts";

/** Who makes the parts of a demo video. */
export const demoMaker = z.strictObject({
  kind: z.literal("demo-maker"),
  /** The tier or model that writes storyboards. */
  writer: words,
  /** The model that speaks, and its voice where the caller names none. */
  speaker: z.strictObject({ model: words, voice: words }),
  /** A vendor's prepaid browser, for operators without one. Places are JSON pointers. */
  browser: z.strictObject({
    begin: z.strictObject({ action: actionId, params: jsonObject, connectAt: place }),
    /** Ends it by its id, which is at `idAt` of the answer that began it. */
    end: z.strictObject({ action: actionId, param: words, idAt: place }),
  }),
});

export type DemoMakerSpec = Said<z.infer<typeof demoMaker>>;

/** An action that can serve a hosted tool. Places are JSON pointers; those of a result start at the result. */
const source = z.strictObject({
  /** `<service>/<action>`. */
  action: actionId,
  params: fn<(wanted: { readonly asked: string }) => JsonObject>(),
  listAt: place,
  url: place,
  title: place,
  text: place,
});

/** A tool of a wire that vendors run themselves, served to models whose vendor does not. */
const tool = z.strictObject({
  about: words,
  /** Its one param. */
  takes: z.enum(["query", "url"]),
  /** The first that is configured serves. */
  sources: some(source, "has no source"),
});

export const hostedTools = z.strictObject({ kind: z.literal("hosted-tools"), web_search: tool, web_fetch: tool });

export type HostedSource = Said<z.infer<typeof source>>;
export type HostedToolSpec = Said<z.infer<typeof tool>>;
export type HostedToolsSpec = Said<z.infer<typeof hostedTools>>;

export { z } from "zod";
export type { SearchWanted, SourceSpec } from "./facets.ts";
export type { PagesWanted } from "./page-ladder.ts";
export { goesWith, neededWhen, needsOne, noneWhen, notBoth, onlyWhen } from "./params-rules.ts";

export const tier = z.strictObject({
  /** What the tier is for, in a sentence people read in the price list. */
  purpose: words,
  /** Models by slug; each configured vendor of one is a candidate, the maker's own first. */
  candidates: some(z.strictObject({ model: words }), "has no candidate"),
  /**
   * What names begin with that mean this tier where no model of such a name is configured: agents ask for models by names of
   * their own. The longest beginning of all tiers counts.
   */
  standsInFor: z.array(z.string().min(3)).optional(),
  /** The tier that serves in this one's place where a budget has come to where its owner wants that; left out: this one goes on. */
  lower: words.optional(),
  /** How long a streamed candidate may take to its first content while another remains. */
  firstTokenMsMax: count,
});

/** An action of a vendor that can serve the tier's params. */
const tierAction = z.strictObject({
  /** `<adapter id>/<action>`. */
  action: words,
  /** The tier's name of a param -> the action's. */
  names: z.record(z.string(), z.string()).optional(),
  /** Params of the tier that this one has no answer to: a call that sets one of them goes to another. */
  lacks: z.array(z.string()).optional(),
});

/** An action we sell under a name of our own, served by the first candidate that can. Its price is its own. */
export const actionTier = z.strictObject({
  ...facts,
  /** `<service>/<action>`. */
  sells: z.string().regex(/^[a-z0-9-]+\/[a-z0-9-]+$/, "must be <service>/<action>"),
  candidates: some(tierAction, "has no candidate"),
  /** The param by which a caller asks for one candidate alone, by its adapter's id; then no other takes over. */
  pinnedBy: words.optional(),
  /** The field of `data` that names the adapter which served. */
  servedAs: words.optional(),
  example: z.strictObject({ params: jsonObject }),
});

export type TierSpec = Said<z.infer<typeof tier>>;
/** A tier of actions whose params are of a type. */
export interface ActionTierSpec<P = Readonly<Record<string, unknown>>>
  extends ActionFacts<P>,
    Omit<Said<z.infer<typeof actionTier>>, keyof typeof facts> {}

/** What one of our composites goes by; `kind` tells them apart. */
export type CompositeTierSpec = PageLadderSpec | PeopleFinderSpec | FacetsSpec | HostedToolsSpec | DemoMakerSpec;
/** By kind. */
export const COMPOSITE_TIERS: Readonly<Record<CompositeTierSpec["kind"], z.ZodType>> = {
  "page-ladder": pageLadder,
  "people-finder": peopleFinder,
  facets,
  "hosted-tools": hostedTools,
  "demo-maker": demoMaker,
};

/** Gives a tier its types. What it says is checked when the catalog loads. */
export function defineTier(spec: TierSpec): TierSpec {
  return spec;
}

/** Gives a tier of actions its types; outside of its file those of its params are forgotten. */
export function defineActionTier<P>(spec: ActionTierSpec<P>): ActionTierSpec {
  return spec as unknown as ActionTierSpec;
}

/** Gives a ladder of rungs its types. */
export function definePageLadder(spec: Omit<PageLadderSpec, "kind">): PageLadderSpec {
  return { kind: "page-ladder", ...spec };
}

/** Gives a finder of people its types. */
export function definePeopleFinder(spec: Omit<PeopleFinderSpec, "kind">): PeopleFinderSpec {
  return { kind: "people-finder", ...spec };
}

/** Gives facets their types. */
export function defineFacets(spec: Omit<FacetsSpec, "kind">): FacetsSpec {
  return { kind: "facets", ...spec };
}

/** Gives hosted tools their types. */
export function defineHostedTools(spec: Omit<HostedToolsSpec, "kind">): HostedToolsSpec {
  return { kind: "hosted-tools", ...spec };
}

/** Gives a maker of demos its types. */
export function defineDemoMaker(spec: Omit<DemoMakerSpec, "kind">): DemoMakerSpec {
  return { kind: "demo-maker", ...spec };
}

/** Our own actions are no adapter's. */
const OURS = "core/";

/** The actions that a composite's tier names, with the field that names each. */
export function actionsNamedBy(spec: CompositeTierSpec): readonly (readonly [field: string, action: string])[] {
  switch (spec.kind) {
    case "page-ladder":
      return [
        ["map.action", spec.map.action],
        ...spec.rungs.flatMap(({ tag, markdown, html }) =>
          [markdown, html].flatMap((call) => (call === undefined ? [] : [[`rungs ${tag}`, call.action] as const])),
        ),
      ];
    case "hosted-tools":
      return [spec.web_search, spec.web_fetch].flatMap(({ takes, sources }) =>
        sources.filter(({ action }) => !action.startsWith(OURS)).map(({ action }) => [takes, action] as const),
      );
    case "demo-maker":
      return [
        ["browser.begin", spec.browser.begin.action],
        ["browser.end", spec.browser.end.action],
      ];
    case "people-finder":
      return actionsOfPeopleFinder(spec);
    case "facets":
      return [
        ["archive.action", spec.archive.action],
        ...Object.entries(spec.facets).flatMap(([name, { sources }]) =>
          sources.map(({ action }) => [`facets ${name}`, action] as const),
        ),
      ];
  }
}
