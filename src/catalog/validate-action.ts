// Checks what an adapter or a tier file says of its actions, and the table beside it.
import { z } from "zod";
import { CATEGORIES } from "./action.ts";
import { ruleSchema, whenSchema } from "./answer-rule.ts";
import { cents, count, json, pointer, words } from "./said.ts";
import { SESSION_LANGUAGES } from "./session.ts";

const DAY_MS = 86_400_000;
const NOTICE_DAYS_MIN = 90;
/** What is metered is sold at no less than so many times our cost; a little less for what rounding takes. */
const COST_FACTOR_MIN = 1.0999;

const id = z.string().regex(/^[a-z0-9]+([-_][a-z0-9]+)*$/, "is not named in-this-way");
const fn = z.custom<(...given: never[]) => unknown>((value) => typeof value === "function", "is no function");
const jsonObject = z.record(z.string(), json);
/** zod's own schemas, whichever copy of zod made them. */
const schema = z.custom<z.ZodType>(
  (value) => typeof (value as { safeParse?: unknown } | null)?.safeParse === "function",
  "is no zod schema",
);

export const rateSchema = z.strictObject({ requests: count, perMs: count });

const request = z
  .strictObject({
    method: z.enum(["GET", "POST", "PUT", "DELETE"]),
    origin: z.string().optional(),
    path: z.string().regex(/^\/|^$/, "must begin with a slash"),
    pathAt: pointer.optional(),
    send: z.enum(["query", "json", "form", "connect", "none"]).optional(),
    names: z.record(z.string(), z.string().nullable()).optional(),
    fixed: jsonObject.optional(),
    headers: z.record(z.string().regex(/^[a-z0-9-]+$/), z.string()).optional(),
    params: fn.optional(),
    redirectsMax: count.optional(),
  })
  .refine((one) => one.send === undefined || one.method !== "GET" || ["query", "none"].includes(one.send), {
    path: ["send"],
    message: "a GET has no body",
  });

const price = z
  .strictObject({
    mode: z.enum(["fixed", "ranged", "capped"]),
    cents,
    minCents: cents.optional(),
    unit: words.optional(),
    quoteCents: fn.optional(),
    otherPrice: jsonObject.optional(),
    counted: z.strictObject({ at: pointer, centsEach: z.number().positive(), baseCents: cents.optional() }).optional(),
    freeOnMiss: z.boolean().optional(),
    needsMaxCost: z.literal(true).optional(),
    paid: z.strictObject({ exampleCents: cents }).optional(),
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

/** Callers of what retires have at least so long to change. */
export const retirementSchema = z
  .strictObject({ announced: z.iso.date(), sunset: z.iso.date(), successor: z.string().startsWith("/").optional() })
  .refine((one) => Date.parse(one.sunset) - Date.parse(one.announced) >= NOTICE_DAYS_MIN * DAY_MS, {
    path: ["sunset"],
    message: `must be at least ${NOTICE_DAYS_MIN} days after announced`,
  });

const facts = {
  description: words,
  category: z.enum(CATEGORIES),
  keywords: z.array(words).optional(),
  effect: z.enum(["read", "write"]),
  params: schema,
  price,
  retires: retirementSchema.optional(),
};

const ids = (place: z.ZodRawShape) => z.array(z.strictObject({ kind: words, ...place })).optional();

const poll = z.strictObject({
  action: id,
  param: words,
  params: jsonObject.optional(),
  numeric: z.boolean().optional(),
  at: pointer,
  done: z.array(words).min(1),
  failed: z.array(words),
});

const step = z
  .strictObject({
    request,
    when: whenSchema.optional(),
    until: whenSchema.optional(),
    everyMs: count.optional(),
    rules: z.array(ruleSchema).optional(),
    merge: z.boolean().optional(),
  })
  .refine((one) => (one.until === undefined) === (one.everyMs === undefined), {
    path: ["everyMs"],
    message: "goes with until",
  });

const answer = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("json"), renamed: z.record(z.string(), words).optional() }),
  z.strictObject({ kind: z.literal("text"), as: words }),
  z.strictObject({ kind: z.literal("bytes") }),
]);

const prepaidUse = z.discriminatedUnion("does", [
  z.strictObject({ does: z.literal("begins"), minutes: words, takesMoreWith: words.optional() }),
  z.strictObject({ does: z.literal("extends"), id: words, minutes: words }),
  z.strictObject({ does: z.literal("tells"), id: words }),
  z.strictObject({ does: z.literal("ends"), id: words }),
]);

export const prepaidSchema = z.strictObject({
  kind: words,
  minutesMax: count,
  close: fn,
  closeLabelled: fn,
  takenCents: fn.optional(),
});

/** What says more about a request, and has no meaning where a script makes them all. */
const OF_REQUESTS = ["steps", "answer", "table"] as const;

const action = z
  .strictObject({
    ...facts,
    upstreamCents: z.union([cents, fn]),
    mayCostMore: words.optional(),
    upstreamMissCents: cents.optional(),
    request: request.optional(),
    steps: z.array(step).optional(),
    run: fn.optional(),
    answer: answer.optional(),
    content: z.union([z.array(pointer).min(1), fn]).optional(),
    rules: z.array(ruleSchema).optional(),
    issues: ids({ at: pointer, days: count.optional(), poll: poll.optional() }),
    requires: ids({ param: words, inside: words.optional() }),
    files: z.array(words).min(1).optional(),
    prepaid: prepaidUse.optional(),
    callerIds: z.array(words).optional(),
    table: z.strictObject({ param: words, method: z.enum(["GET", "POST"]).optional() }).optional(),
    rate: rateSchema.optional(),
    timeoutMs: count.optional(),
    example: z.strictObject({ params: jsonObject, answers: z.array(json).min(1) }),
  })
  .refine((one) => (one.request === undefined) !== (one.run === undefined), {
    path: ["request"],
    message: "an action has either a request or a run",
  })
  .refine((one) => one.run === undefined || OF_REQUESTS.every((name) => one[name] === undefined), {
    path: ["run"],
    message: `does not go with ${OF_REQUESTS.join(", ")}`,
  });

export const actionsSchema = z.record(id, action);

const otherwise = z.strictObject({
  request: request.optional(),
  content: z.array(pointer).min(1).optional(),
  rules: z.array(ruleSchema).optional(),
});

/** What of its actions a vendor's own server has otherwise; its login is the adapter's to check. */
export const selfHostedActions = { lacks: z.array(id).optional(), actions: z.record(id, otherwise).optional() };

export const actionTierSchema = z.strictObject({
  ...facts,
  sells: z.string().regex(/^[a-z0-9-]+\/[a-z0-9-]+$/, "must be <service>/<action>"),
  candidates: z
    .array(
      z.strictObject({
        action: words,
        names: z.record(z.string(), z.string()).optional(),
        lacks: z.array(z.string()).optional(),
      }),
    )
    .min(1, "has no candidate"),
  pinnedBy: words.optional(),
  servedAs: words.optional(),
  example: z.strictObject({ params: jsonObject }),
});

const templateName = z.string().regex(/^[a-z0-9][a-z0-9._/-]{0,127}$/);

/** What an adapter says of its metered sessions. */
export const sessionsSchema = z
  .strictObject({
    description: words,
    vcpus: z.number().positive(),
    memoryGb: z.number().positive(),
    metered: z.enum(["open", "busy"]),
    centsPerHour: z.number().positive(),
    upstreamCentsPerHour: cents,
    minutesMax: count,
    leaseMinutes: count,
    templates: z.array(templateName).min(1).optional(),
    languages: z.array(z.enum(SESSION_LANGUAGES)).min(1),
    createMsMax: count.optional(),
    create: fn,
    run: fn,
    extend: fn.optional(),
    isOpen: fn,
    close: fn,
    closeLabelled: fn,
  })
  .refine((one) => one.centsPerHour >= one.upstreamCentsPerHour * COST_FACTOR_MIN, {
    path: ["centsPerHour"],
    message: "must be at least our cost and a tenth of it",
  });
