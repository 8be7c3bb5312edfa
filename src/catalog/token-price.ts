// What tokens cost at a vendor, as an adapter says it: dated, by what they are, how many and when.
import { z } from "zod";
import { ascending, count, day, price, type Said, taken } from "./said.ts";

/** What tokens cost, as decimal strings of USD per million; a bucket that is left out costs `input`. */
const rates = {
  input: price,
  output: price,
  /** Prompt tokens read from the vendor's cache. */
  cacheRead: price.optional(),
  /** Prompt tokens written to the vendor's cache. */
  cacheWrite: price.optional(),
};
const time = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$|^24:00$/, "is no time of day as HH:MM");
const hours = z
  .strictObject({
    /** `HH:MM`, and the first minute that is no longer within. */
    from: time,
    until: time,
    /** Not on Saturdays and Sundays. */
    weekdaysOnly: z.boolean().optional(),
    ...rates,
  })
  .refine(({ from, until }) => from < until, { path: ["until"], message: "must be after `from`, on the same day" });
const dated = z
  .strictObject({
    /** `YYYY-MM-DD`, UTC. */
    since: day,
    /** When a list brought it, of a price that no adapter has: a part of its version, because several may begin on one day. */
    taken: taken.optional(),
    ...rates,
    /** What a thousand calls cost beside their tokens, such as the searches that a model makes for each; in USD. */
    thousandCalls: price.optional(),
    /** Prices of the whole call once its prompt is longer than `promptTokens`; dearest step last. */
    steps: z.array(z.strictObject({ promptTokens: count, ...rates })).optional(),
    /** Prices at some hours of the day; a price has these or steps. At other hours it is what stands above. */
    hours: z.array(hours).optional(),
  })
  .refine((one) => one.steps === undefined || one.hours === undefined, {
    path: ["hours"],
    message: "cannot be together with steps",
  });

/** Prices by the token as adapters and updates write them, newest last. */
export const tokenPrices = z
  .array(dated)
  .min(1, "has no price, and what is not priced is not sold")
  .refine((list) => ascending(list.map((entry) => entry.since)), "must be in order of `since`, newest last")
  .refine(
    (list) => list.every((entry) => ascending((entry.steps ?? []).map((at) => at.promptTokens))),
    "must have its steps in order of `promptTokens`",
  );

/** Prices of embeddings: of their tokens and of nothing else, so that each is a unit. */
export const plainTokenPrices = tokenPrices.refine(
  (list) => list.every(({ steps, thousandCalls }) => steps === undefined && thousandCalls === undefined),
  "has `steps` or `thousandCalls`, and embeddings are sold by their tokens alone",
);

/** A price from a day on, as decimal strings of USD per million tokens, exactly as the vendor lists them. */
export type TokenPriceSpec = Said<z.infer<typeof dated>>;

/** Other prices at some hours of the day, in UTC, as the minute in which a call is admitted has it. */
export type HoursSpec = Said<z.infer<typeof hours>>;
