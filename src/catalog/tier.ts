// All that a file in tiers/ may import: an alias we sell and its candidates in order of preference.
import type { ActionFacts, JsonObject } from "./action.ts";

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
