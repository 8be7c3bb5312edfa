// What tokens cost at a vendor, as an adapter says it: dated, by what they are, how many and when.

/** What tokens cost, as decimal strings of USD per million; a bucket that is left out costs `input`. */
type RatesSpec = Omit<TokenPriceSpec, "since" | "steps" | "hours">;

/** Other prices at some hours of the day, in UTC, as the minute in which a call is admitted has it. */
export interface HoursSpec extends RatesSpec {
  /** `HH:MM`, and the first minute that is no longer within. */
  readonly from: string;
  readonly until: string;
  /** Not on Saturdays and Sundays. */
  readonly weekdaysOnly?: boolean;
}

/** A price from a day on, as decimal strings of USD per million tokens, exactly as the vendor lists them. */
export interface TokenPriceSpec {
  /** `YYYY-MM-DD`, UTC. */
  readonly since: string;
  readonly input: string;
  readonly output: string;
  /** Prompt tokens read from the vendor's cache; without it they cost `input`. */
  readonly cacheRead?: string;
  /** Prompt tokens written to the vendor's cache; without it they cost `input`. */
  readonly cacheWrite?: string;
  /** What a thousand calls cost beside their tokens, such as the searches that a model makes for each; in USD. */
  readonly thousandCalls?: string;
  /** Prices of the whole call once its prompt is longer than `promptTokens`; dearest step last. */
  readonly steps?: readonly (RatesSpec & { readonly promptTokens: number })[];
  /** When a list brought it (`20261126T002503`), of a price that no adapter has: a part of its version, because several may begin on one day. */
  readonly taken?: string;
  /** Prices at some hours of the day; a price has these or steps. At other hours it is what stands above. */
  readonly hours?: readonly HoursSpec[];
}
