// Everything that a file in tiers/ may import: aliases with their candidates in order, and what our composites try.
import { z } from "zod";
import { type ActionFacts, facts } from "./action.ts";
import { type FacetsSpec, facets } from "./facets.ts";
import { type PageLadderSpec, pageLadder } from "./page-ladder.ts";
import { type PeopleFinderSpec, peopleFinder } from "./people-finder.ts";
import { actionId, count, fn, type JsonObject, jsonObject, place, type Said, some, words } from "./said.ts";

/** The services that produce the parts of a demo video. */
export const demoMaker = z.strictObject({
  kind: z.literal("demo-maker"),
  writer: words,
  /** The speech model, and its default voice. */
  speaker: z.strictObject({ model: words, voice: words }),
  /** A vendor's prepaid browser, for operators without their own. Locations are JSON pointers. */
  browser: z.strictObject({
    begin: z.strictObject({ action: actionId, params: jsonObject, connectAt: place }),
    /** Ends the browser by its id, which is at `idAt` in the answer that started it. */
    end: z.strictObject({ action: actionId, param: words, idAt: place }),
  }),
});

export type DemoMakerSpec = Said<z.infer<typeof demoMaker>>;

/** An action that can serve a hosted tool. Locations are JSON pointers; those of a result are relative to it. */
const source = z.strictObject({
  /** `<service>/<action>`. */
  action: actionId,
  params: fn<(wanted: { readonly asked: string }) => JsonObject>(),
  listAt: place,
  url: place,
  title: place,
  text: place,
});

/** A tool that some vendors run themselves, provided to models whose vendor does not. */
const tool = z.strictObject({
  about: words,
  /** Its only param. */
  takes: z.enum(["query", "url"]),
  /** The first configured one serves. */
  sources: some(source, "has no source"),
});

export const hostedTools = z.strictObject({ kind: z.literal("hosted-tools"), web_search: tool, web_fetch: tool });

export type HostedSource = Said<z.infer<typeof source>>;
export type HostedToolsSpec = Said<z.infer<typeof hostedTools>>;

export { z } from "zod";
export type { SearchWanted, SourceSpec } from "./facets.ts";
export type { PagesWanted } from "./page-ladder.ts";
export { goesWith, neededWhen, needsOne, noneWhen, notBoth, onlyWhen, withRules } from "./params-rules.ts";

export const tier = z.strictObject({
  /** What the tier is for, in one sentence for the price list. */
  purpose: words,
  /** Models by slug; each configured vendor of a model is a candidate, the maker's own first. */
  candidates: some(z.strictObject({ model: words }), "has no candidate"),
  /** Prefixes of model names that this tier serves if no configured model has the name. The longest of all tiers' counts. */
  standsInFor: z.array(z.string().min(3)).optional(),
  /** The tier that replaces this one when a budget reaches the level its owner set; absent: this one continues to serve. */
  lower: words.optional(),
  /** Its candidates are realtime models, not chat models. */
  realtime: z.literal(true).optional(),
  /** How long a streamed candidate may take to its first content if another candidate remains. */
  firstTokenMsMax: count,
});

/** A vendor's action that can serve the tier's params. */
const tierAction = z.strictObject({
  /** `<adapter id>/<action>`. */
  action: words,
  /** Maps the tier's param names to the action's. */
  names: z.record(z.string(), z.string()).optional(),
  /** Params of the tier that this action does not support: a call that sets one goes to another candidate. */
  lacks: z.array(z.string()).optional(),
});

/** An action that we sell under our own name and price, served by the first candidate that can. */
export const actionTier = z.strictObject({
  ...facts,
  /** `<service>/<action>`. */
  sells: z.string().regex(/^[a-z0-9-]+\/[a-z0-9-]+$/, "must be <service>/<action>"),
  candidates: some(tierAction, "has no candidate"),
  /** The param that pins a call to one candidate, by its adapter's id; there is then no fallback. */
  pinnedBy: words.optional(),
  /** The field of `data` that names the adapter that served. */
  servedAs: words.optional(),
  example: z.strictObject({ params: jsonObject }),
});

export type TierSpec = Said<z.infer<typeof tier>>;
export interface ActionTierSpec<P = Readonly<Record<string, unknown>>>
  extends ActionFacts<P>,
    Omit<Said<z.infer<typeof actionTier>>, keyof typeof facts> {}

/** The data of one of our composites; `kind` distinguishes them. */
export type CompositeTierSpec = PageLadderSpec | PeopleFinderSpec | FacetsSpec | HostedToolsSpec | DemoMakerSpec;
/** By kind. */
export const COMPOSITE_TIERS: Readonly<Record<CompositeTierSpec["kind"], z.ZodType>> = {
  "page-ladder": pageLadder,
  "people-finder": peopleFinder,
  facets,
  "hosted-tools": hostedTools,
  "demo-maker": demoMaker,
};

/** Types a tier. Its contents are checked when the catalog loads. */
export function defineTier(spec: TierSpec): TierSpec {
  return spec;
}

/** Types a tier of actions; the types of its params are erased outside its file. */
export function defineActionTier<P>(spec: ActionTierSpec<P>): ActionTierSpec {
  return spec as unknown as ActionTierSpec;
}

/** Types the data of one of our composites, and adds its kind. */
function defines<Kind extends CompositeTierSpec["kind"]>(kind: Kind) {
  type Spec = Extract<CompositeTierSpec, { readonly kind: Kind }>;
  return (spec: Omit<Spec, "kind">) => ({ kind, ...spec }) as unknown as Spec;
}

export const definePageLadder = defines("page-ladder");
export const definePeopleFinder = defines("people-finder");
export const defineFacets = defines("facets");
export const defineHostedTools = defines("hosted-tools");
export const defineDemoMaker = defines("demo-maker");

/** Our own actions belong to no adapter. */
const OURS = "core/";

/** The vendors' actions that a composite names, each with its place in the file. A vendor's `params` may have a field `action` too. */
export function* actionsNamedBy(spec: object, within = ""): Generator<readonly [field: string, action: string]> {
  for (const [name, value] of Object.entries(spec)) {
    if (name === "params") continue;
    if (typeof value === "object" && value !== null) yield* actionsNamedBy(value, `${within}${name}.`);
    else if (name === "action" && !value.startsWith(OURS)) yield [`${within}${name}`, value];
  }
}
