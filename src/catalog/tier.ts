// All that a file in tiers/ may import: an alias we sell and its candidates in order of preference.

/** One candidate: a model by slug; every configured vendor of it is a route, the maker's own first. */
export interface TierCandidate {
  readonly model: string;
}

export interface TierSpec {
  /** What the tier is for, in a sentence people read in the price list. */
  readonly purpose: string;
  readonly candidates: readonly [TierCandidate, ...TierCandidate[]];
  /** How long a streamed route may take to its first content while another remains. */
  readonly firstTokenMsMax: number;
}

/** Gives a tier its types. What it says is checked when the catalog loads. */
export function defineTier(spec: TierSpec): TierSpec {
  return spec;
}
