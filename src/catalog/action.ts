// What a paid operation is, as data: its params, its price, its wire, and what its answers mean.
import { z } from "zod";
import { ruleSchema } from "./answer-rule.ts";
import { prepaidUse } from "./prepaid.ts";
import { type RequestSpec, rate, request, type StepSpec, step } from "./request-spec.ts";
import { cents, count, fn, json, jsonObject, type Params, pointer, type Said, schema, some, words } from "./said.ts";
import type { Script } from "./script.ts";

/** Where people look for an action. */
export const CATEGORIES = [
  "search",
  "scraping",
  "people",
  "memory",
  "compute",
  "browser",
  "media",
  "video",
  "files",
  "email",
  "records",
  "real-estate",
  "social",
  "market",
  "compliance",
  "open-data",
  "commerce",
  "models",
  "core",
] as const;
export type Category = (typeof CATEGORIES)[number];

/** The name of an action at its vendor. */
export const actionName = z.string().regex(/^[a-z0-9]+([-_][a-z0-9]+)*$/, "is not named in-this-way");

/**
 * What a call costs, in cents; fractions of a cent are real. `fixed`: always `cents`. `ranged`: what the params make of it.
 * `capped`: what the answer says it was, never above the quote.
 */
const price = z
  .strictObject({
    mode: z.enum(["fixed", "ranged", "capped"]),
    /** The price; where it is ranged or capped, the most that any call can cost. */
    cents,
    /** The least that a charged call costs. Default: `cents` where fixed, else 0. */
    minCents: cents.optional(),
    /** What one counts, as people read it: `URL`, `page`, `second of video`. */
    unit: words.optional(),
    /** The most that a call with these params can cost. Default `cents`. */
    quoteCents: fn<(params: Params) => number>().optional(),
    /** Params of which the price is another than the example's: callers are shown both. Goes with `quoteCents` where the price is ranged. */
    otherPrice: jsonObject.optional(),
    /** How the answer says what it cost: a number or an array at a JSON pointer, times `centsEach`, on top of `baseCents`, never below `minCents`. */
    counted: z.strictObject({ at: pointer, centsEach: z.number().positive(), baseCents: cents.optional() }).optional(),
    /** An answer that a rule calls a miss is not charged. Default false. */
    freeOnMiss: z.boolean().optional(),
    /**
     * What it costs is known only when it is bought: the caller has to say the most (`max_cost_cents`), which is what is held. What the
     * answer says was taken is the charge, and what it has cost us.
     */
    needsMaxCost: z.literal(true).optional(),
    /** The vendor is paid by the call (`paidBy`): what it was paid is the charge, and the price is the most that it may be. */
    paid: z
      .strictObject({
        /** What it asks for the example. */
        exampleCents: cents,
        /** Of an action of our own: what it costs beside that, unless it was a miss. */
        feeCents: cents.optional(),
      })
      .optional(),
  })
  .refine((one) => ((one.counted ?? one.paid) !== undefined) === (one.mode === "capped"), {
    path: ["counted"],
    message: "goes with mode capped, and with no other, as paid does",
  })
  .refine((one) => one.counted === undefined || one.paid === undefined, {
    path: ["paid"],
    message: "says itself what is charged: counted has no meaning beside it",
  })
  .refine((one) => one.needsMaxCost === undefined || one.mode === "capped", {
    path: ["needsMaxCost"],
    message: "goes with mode capped",
  })
  .refine((one) => one.mode !== "fixed" || one.quoteCents === undefined, {
    path: ["quoteCents"],
    message: "has no meaning where the price is fixed",
  })
  .refine((one) => (one.mode === "ranged" && one.quoteCents !== undefined) === (one.otherPrice !== undefined), {
    path: ["otherPrice"],
    message: "goes with quoteCents of a ranged price: callers are shown what else it may cost",
  });

const DAY_MS = 86_400_000;
const NOTICE_DAYS_MIN = 90;

/** Callers of what retires have at least so long to change. */
export const retirement = z
  .strictObject({ announced: z.iso.date(), sunset: z.iso.date(), successor: z.string().startsWith("/").optional() })
  .refine((one) => Date.parse(one.sunset) - Date.parse(one.announced) >= NOTICE_DAYS_MIN * DAY_MS, {
    path: ["sunset"],
    message: `must be at least ${NOTICE_DAYS_MIN} days after announced`,
  });

/** What every action says of itself, whichever serves it: a vendor, a tier of vendors, or we ourselves. */
export const facts = {
  /** One or two sentences that say what the caller gets. */
  description: words,
  category: z.enum(CATEGORIES),
  /** Other words that people search it by, separated by semicolons; overlays may have a list. */
  keywords: z.union([words, z.array(words)]).optional(),
  /** How people who know no actions ask for it: phrases separated by semicolons, written from what it does and not from test queries. */
  asked: words.optional(),
  /** A write is never sent twice. */
  effect: z.enum(["read", "write"]),
  /** Strict, with defaults and rules across fields. Feeds validation, descriptor, openapi.json and examples. */
  params: schema,
  price,
  retires: retirement.optional(),
};

/** What becomes of an answer's body. */
const answer = z.discriminatedUnion("kind", [
  /** Passed through as it is; fields at its top may get other names. */
  z.strictObject({ kind: z.literal("json"), renamed: z.record(z.string(), words).optional() }),
  /** `{[as]: text, content_type}`. */
  z.strictObject({ kind: z.literal("text"), as: words }),
  /** `{content_type, size_bytes, text}` of a text, else `base64`, or of a large one the link to a file. */
  z.strictObject({ kind: z.literal("bytes") }),
]);

/** How core/result learns what has become of work that a vendor does on its own. */
const poll = z.strictObject({
  /** The adapter's action that tells; asking it costs us nothing. */
  action: actionName,
  /** Its param that takes the id, and what it takes beside it. */
  param: words,
  params: jsonObject.optional(),
  /** The vendor's ids are numbers. Default: texts. */
  numeric: z.boolean().optional(),
  /** Where its answer says how the work stands. */
  at: pointer,
  /** What stands there once the work has come to something, or to nothing; with any other word it still goes on. */
  done: z.array(words).min(1),
  failed: z.array(words),
});

/** What says more about a request, and has no meaning where a script makes them all. */
const OF_REQUESTS = ["steps", "answer", "table"] as const;

const anAction = z
  .strictObject({
    ...facts,
    /** What the vendor takes from us for a call, in cents. Not above the price for the same params, or `mayCostMore` says why. */
    upstreamCents: z.union([cents, fn<(params: Params) => number>()]),
    mayCostMore: words.optional(),
    /** What it takes where it has found nothing. Default: the same. */
    upstreamMissCents: cents.optional(),
    /** The request, and those after it; or, where the vendor has a state that data cannot say, `run` instead of both. */
    request: request.optional(),
    steps: z.array(step).optional(),
    run: fn<Script>().optional(),
    answer: answer.optional(),
    /**
     * JSON pointers to what is sold, `""` for a text or bytes as a whole. A good answer that has nothing (no field, null, white space) at
     * any of them is no answer: it is not charged, and the next candidate is asked. An empty list is an honest nothing. Default: none.
     */
    content: z.union([z.array(pointer).min(1), fn<(params: Params) => readonly string[]>()]).optional(),
    /** Tried before the adapter's own. */
    rules: z.array(ruleSchema).optional(),
    /**
     * Ids that the vendor made for this call: they belong to its payer, for `days` (default 90). `at` leads to one id or to an array of
     * them. With `poll` it stands for work, and core/result takes it as a job's id.
     */
    issues: z
      .array(z.strictObject({ kind: words, at: pointer, days: count.optional(), poll: poll.optional() }))
      .optional(),
    /** Params that must be ids of that kind which the payer got here; anybody else's is 404. `inside`: each text of that name in what the param holds. */
    requires: z.array(z.strictObject({ kind: words, param: words, inside: words.optional() })).optional(),
    /** A call with the param `by` lists what all callers have there: the payer is shown its own items of the list in `field`, as many as `limit` says. */
    lists: z.strictObject({ by: words, kind: words, field: words, id: pointer, limit: words }).optional(),
    /** Params that are ids of files that the payer has here: the vendor gets a link to the file instead, which lives for an hour. */
    files: z.array(words).min(1).optional(),
    /** What it has to do with the adapter's `prepaid` time. */
    prepaid: prepaidUse.optional(),
    /** Params that hold ids which callers choose: they go upstream as a hash of payer and id and come back as written. */
    callerIds: z.array(words).optional(),
    /** The param of the table beside the adapter's file; the rest of the params are what its row says. */
    table: z.strictObject({ param: words, method: z.enum(["GET", "POST"]).optional() }).optional(),
    /** The vendor counts this action by itself: it keeps a pace of its own, and rests alone, instead of the adapter's `rate`. */
    rate: rate.optional(),
    /** For the whole call with all its steps. Default 60,000. */
    timeoutMs: count.optional(),
    /** What the catalog test sends, and what the vendor answers: one answer for the request and each step that runs, or each `ask`. */
    example: z.strictObject({ params: jsonObject, answers: some(json) }),
  })
  .refine((one) => (one.request === undefined) !== (one.run === undefined), {
    path: ["request"],
    message: "an action has either a request or a run",
  })
  .refine((one) => one.run === undefined || OF_REQUESTS.every((name) => one[name] === undefined), {
    path: ["run"],
    message: `does not go with ${OF_REQUESTS.join(", ")}`,
  });

/** What an adapter sells, by name. */
export const actions = z.record(actionName, anAction);

export type AnswerShape = Said<z.infer<typeof answer>>;
export type PollSpec = Said<z.infer<typeof poll>>;

/** A price whose params are of a type. */
export interface PriceSpec<P = Params> extends Omit<Said<z.infer<typeof price>>, "quoteCents"> {
  quoteCents?(params: P): number;
}

type Facts = Said<z.infer<z.ZodObject<typeof facts>>>;
export interface ActionFacts<P = Params> extends Omit<Facts, "params" | "price"> {
  readonly params: z.ZodType<P>;
  readonly price: PriceSpec<P>;
}

type AnyAction = Omit<Said<z.infer<typeof anAction>>, keyof typeof facts>;
/** An action whose params are of a type. */
export interface ActionSpec<P = Params>
  extends ActionFacts<P>,
    Omit<AnyAction, "upstreamCents" | "request" | "steps" | "run" | "content"> {
  readonly upstreamCents: number | ((params: P) => number);
  readonly request?: RequestSpec<P>;
  readonly steps?: readonly StepSpec<P>[];
  readonly run?: Script<P>;
  readonly content?: readonly string[] | ((params: P) => readonly string[]);
}

/**
 * Gives an action the types of its params. Outside of its file they are forgotten: what is handed to its functions is always
 * what its own `params` made of a call.
 */
export function action<P>(spec: ActionSpec<P>): ActionSpec {
  return spec as unknown as ActionSpec;
}
