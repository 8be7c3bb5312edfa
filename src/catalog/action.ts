// Describes a paid operation as data: its params, price, requests and how to interpret its answers.
import { z } from "zod";
import { ruleSchema } from "./answer-rule.ts";
import { prepaidUse } from "./prepaid.ts";
import { type RequestSpec, rate, request, type StepSpec, step } from "./request-spec.ts";
import {
  cents,
  count,
  fn,
  type Json,
  type JsonObject,
  json,
  jsonObject,
  type Params,
  pointer,
  type Said,
  schema,
  some,
  words,
} from "./said.ts";
import type { Script } from "./script.ts";

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

export const actionName = z.string().regex(/^[a-z0-9]+([-_][a-z0-9]+)*$/, "is not named in-this-way");

/** In cents, maybe fractional. `fixed`: `cents`. `ranged`: by the params. `capped`: read from the answer, at most the quote. */
const price = z
  .strictObject({
    mode: z.enum(["fixed", "ranged", "capped"]),
    /** The price; for `ranged` and `capped`, the maximum price of any call. */
    cents,
    /** The minimum price of a charged call. Default: `cents` if fixed, else 0. */
    minCents: cents.optional(),
    /** The billing unit as shown to users: `URL`, `page`, `second of video`. */
    unit: words.optional(),
    /** The maximum price of a call with these params. Default `cents`. */
    quoteCents: fn<(params: Params) => number>().optional(),
    /** Params whose price differs from the example's. Required together with `quoteCents` for a ranged price. */
    otherPrice: jsonObject.optional(),
    /** The price from the answer: `baseCents` + `centsEach` × the number (or array length) at a pointer, at least `minCents`. */
    counted: z.strictObject({ at: pointer, centsEach: z.number().positive(), baseCents: cents.optional() }).optional(),
    /** Do not charge for an answer that a rule classifies as a miss. Default false. */
    freeOnMiss: z.boolean().optional(),
    /** Known only after the purchase: the caller must set `max_cost_cents`, which we hold. The answer's amount is charge and cost. */
    needsMaxCost: z.literal(true).optional(),
    /** The vendor is paid per call (`paidBy`): we charge what we paid it, at most the price. */
    paid: z
      .strictObject({
        exampleCents: cents,
        /** For our own actions: our fee on top, not charged for a miss. */
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

/** The minimum notice that callers get before a retirement. */
export const retirement = z
  .strictObject({ announced: z.iso.date(), sunset: z.iso.date(), successor: z.string().startsWith("/").optional() })
  .refine((one) => Date.parse(one.sunset) - Date.parse(one.announced) >= NOTICE_DAYS_MIN * DAY_MS, {
    path: ["sunset"],
    message: `must be at least ${NOTICE_DAYS_MIN} days after announced`,
  });

/** The facts that every action declares, whether a vendor, a tier of vendors or the gateway itself serves it. */
export const facts = {
  /** One or two sentences on what the caller gets. */
  description: words,
  category: z.enum(CATEGORIES),
  /** Additional search terms, separated by semicolons; overlays may use a list. */
  keywords: z.union([words, z.array(words)]).optional(),
  /** How users who do not know the catalog ask for it: phrases separated by semicolons, not written from test queries. */
  asked: words.optional(),
  /** A write is never retried. */
  effect: z.enum(["read", "write"]),
  /** Strict, with defaults and cross-field rules. Used for validation, the descriptor, openapi.json and examples. */
  params: schema,
  price,
  retires: retirement.optional(),
};

/** How an answer's body becomes the result. */
const answer = z.discriminatedUnion("kind", [
  /** Passed through unchanged, except that top-level fields may be renamed. */
  z.strictObject({ kind: z.literal("json"), renamed: z.record(z.string(), words).optional() }),
  /** `{[as]: text, content_type}`. */
  z.strictObject({ kind: z.literal("text"), as: words }),
  /** `{content_type, size_bytes}` with `text` for text, `base64` for binary data, or a link to a file if the body is large. */
  z.strictObject({ kind: z.literal("bytes") }),
]);

/** How core/result polls a vendor's asynchronous job. */
const poll = z.strictObject({
  /** The adapter's action that returns the status; it must cost us nothing. */
  action: actionName,
  param: words,
  params: jsonObject.optional(),
  /** The vendor's ids are numbers. Default: strings. */
  numeric: z.boolean().optional(),
  /** A pointer to the job's status in the answer. */
  at: pointer,
  /** The final statuses, for success and failure; any other status means that the job is still running. */
  done: z.array(words).min(1),
  failed: z.array(words),
});

/** Fields that refine a declared request, and mean nothing where a script makes the requests. */
const OF_REQUESTS = ["steps", "answer", "table"] as const;

const anAction = z
  .strictObject({
    ...facts,
    /** What the vendor charges us per call, in cents. At most the price for the same params, unless `mayCostMore` gives a reason. */
    upstreamCents: z.union([cents, fn<(params: Params) => number>()]),
    mayCostMore: words.optional(),
    /** What the vendor charges us for a miss. Default: the same. */
    upstreamMissCents: cents.optional(),
    /** The request and its follow-ups; or `run` instead, where the vendor's protocol is stateful in a way that data cannot describe. */
    request: request.optional(),
    steps: z.array(step).optional(),
    run: fn<Script>().optional(),
    answer: answer.optional(),
    /**
     * JSON pointers to the content that is sold; `""` is a whole text or binary body. A successful answer with nothing at any of them (no
     * field, null, white space) counts as a failure: it is not charged, and the next candidate is tried. An empty list is a valid result.
     * Default: no check.
     */
    content: z.union([z.array(pointer).min(1), fn<(params: Params) => readonly string[]>()]).optional(),
    /** Applied before the adapter's own rules. */
    rules: z.array(ruleSchema).optional(),
    /** Ids made for this call belong to the payer for `days` (90). `at`: one or an array. With `poll`, core/result takes it as a job. */
    issues: z
      .array(z.strictObject({ kind: words, at: pointer, days: count.optional(), poll: poll.optional() }))
      .optional(),
    /** Params that must be ids of that kind which this payer got here (else 404). `inside`: each string of that name within the value. */
    requires: z.array(z.strictObject({ kind: words, param: words, inside: words.optional() })).optional(),
    /** With the param `by` a call lists all our callers' items: the payer sees its own in `field`, at most as many as `limit` says. */
    lists: z.strictObject({ by: words, kind: words, field: words, id: pointer, limit: words }).optional(),
    /** Params that hold ids of the payer's files here: the vendor gets a link to the file instead, valid for one hour. */
    files: z.array(words).min(1).optional(),
    /** How the action uses the adapter's `prepaid` sessions. */
    prepaid: prepaidUse.optional(),
    /** Params with ids that callers choose: we send the vendor a hash of payer and id, and restore the caller's id in the answer. */
    callerIds: z.array(words).optional(),
    /** The param that selects a row of the table beside the adapter's file; the row defines the other params. */
    table: z.strictObject({ param: words, method: z.enum(["GET", "POST"]).optional() }).optional(),
    /** The vendor limits this action separately: it has its own rate limit and cooldown instead of the adapter's `rate`. */
    rate: rate.optional(),
    /** For the whole call including all steps. Default 60,000. */
    timeoutMs: count.optional(),
    /** What the catalog test sends, and the vendor's answers: one for the request and each step that runs, or one for each `ask`. */
    example: z.strictObject({ params: jsonObject, answers: some(json) }),
  })
  .refine((one) => (one.request === undefined) !== (one.run === undefined), {
    path: ["request"],
    message: "an action has either a request or a run",
  })
  .refine((one) => one.run === undefined || OF_REQUESTS.every((name) => one[name] === undefined), {
    path: ["run"],
    message: `does not go with ${OF_REQUESTS.join(", ")}`,
  })
  .refine((one) => !/\bpdfPages\b/.test(String(one.run)), {
    path: ["run"],
    message:
      "uses `pdfPages`, which scripts no longer have: take the number of pages as a param, and price the call by it",
  });

/** The actions that an adapter sells, by name. */
export const actions = z.record(actionName, anAction);

export type PollSpec = Said<z.infer<typeof poll>>;

export interface PriceSpec<P = Params> extends Omit<Said<z.infer<typeof price>>, "quoteCents"> {
  quoteCents?(params: P): number;
}

type Facts = Said<z.infer<z.ZodObject<typeof facts>>>;
export interface ActionFacts<P = Params> extends Omit<Facts, "params" | "price"> {
  readonly params: z.ZodType<P>;
  readonly price: PriceSpec<P>;
}

type AnyAction = Omit<Said<z.infer<typeof anAction>>, keyof typeof facts>;
export interface ActionSpec<P = Params>
  extends ActionFacts<P>,
    Omit<AnyAction, "upstreamCents" | "request" | "steps" | "run" | "content"> {
  readonly upstreamCents: number | ((params: P) => number);
  readonly request?: RequestSpec<P>;
  readonly steps?: readonly StepSpec<P>[];
  readonly run?: Script<P>;
  readonly content?: readonly string[] | ((params: P) => readonly string[]);
}

interface Answered {
  readonly params: JsonObject;
  readonly answer: Json;
}

/** An action in an adapter's file, where `answer` may stand for a single one of `answers`. */
type WrittenAction<P> = Omit<ActionSpec<P>, "example"> & { readonly example: ActionSpec["example"] | Answered };

/**
 * Derives the types of an action's functions from its `params` schema. `common` has fields that several actions share; the action's own
 * fields override them.
 */
export function action<P>(own: WrittenAction<P>): ActionSpec;
export function action<P, Common extends object>(
  common: Common & Partial<WrittenAction<P>>,
  own: Omit<WrittenAction<P>, keyof Common> & Partial<WrittenAction<P>>,
): ActionSpec;
export function action(...parts: readonly object[]): ActionSpec {
  const { example, ...spec } = Object.assign({}, ...parts) as WrittenAction<never>;
  const { params, ...came } = example;
  return {
    ...spec,
    example: { params, answers: "answer" in came ? [came.answer] : came.answers },
  } as unknown as ActionSpec;
}
