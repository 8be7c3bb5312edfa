// A vendor's token prices as declared by an adapter: dated, by token type, prompt length and time of day.
import { z } from "zod";
import { ascending, count, day, price, type Said, taken } from "./said.ts";

/** Prices in USD per million tokens, as decimal strings; a bucket that is left out costs `input`. */
const rates = {
  input: price,
  output: price,
  /** Prompt tokens read from the vendor's cache. */
  cacheRead: price.optional(),
  /** Prompt tokens written to the vendor's cache. */
  cacheWrite: price.optional(),
};
const time = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$|^24:00$/, "is not a time of day as HH:MM");
const hours = z
  .strictObject({
    /** `HH:MM`; the end is exclusive. */
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
    /** When a list supplied it, for a price that no adapter has: part of its version, because several prices may start on one day. */
    taken: taken.optional(),
    ...rates,
    /** The price of 1,000 calls in USD on top of their tokens, for example for the model's own searches. */
    thousandCalls: price.optional(),
    /** Prices for the whole call if its prompt is longer than `promptTokens`; the most expensive last. */
    steps: z.array(z.strictObject({ promptTokens: count, ...rates })).optional(),
    /** Prices at certain hours; a price has either hours or steps. The rates above apply at other times. */
    hours: z.array(hours).optional(),
  })
  .refine((one) => one.steps === undefined || one.hours === undefined, {
    path: ["hours"],
    message: "cannot be together with steps",
  });

/** Token prices as adapters and updates write them, oldest first. */
export const tokenPrices = z
  .array(dated)
  .min(1, "has no price, and what is not priced is not sold")
  .refine((list) => ascending(list.map((entry) => entry.since)), "must be in order of `since`, newest last")
  .refine(
    (list) => list.every((entry) => ascending((entry.steps ?? []).map((at) => at.promptTokens))),
    "must have its steps in order of `promptTokens`",
  );

/** Embedding prices: for tokens only, so that each token is a unit. */
export const plainTokenPrices = tokenPrices.refine(
  (list) => list.every(({ steps, thousandCalls }) => steps === undefined && thousandCalls === undefined),
  "has `steps` or `thousandCalls`, and embeddings are sold by their tokens alone",
);

/** A price with a start date, as decimal strings of USD per million tokens, exactly as the vendor lists it. */
export type TokenPriceSpec = Said<z.infer<typeof dated>>;

/** Prices at certain hours, in UTC, determined by the minute in which a call is admitted. */
export type HoursSpec = Said<z.infer<typeof hours>>;
