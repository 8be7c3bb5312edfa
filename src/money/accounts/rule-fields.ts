// Ceilings, rates and groups as requests and answers write them.
import { z } from "zod";
import { GatewayError } from "../../core/errors.ts";
import { centsDown, nanoFromCents } from "../../core/money.ts";
import { modelsSchema, servicesSchema, type Unsold } from "./allowed.ts";
import { isoTime } from "./rows.ts";
import type { Ceiling, GroupRule, Rates } from "./rules.ts";
import { ruleOfRunsAfter, ruleOfRunsFields, ruleOfRunsRow } from "./run-rules.ts";

/** The default period of a ceiling. */
export const PERIOD = "month";
const RATE_MAX = 1_000_000_000;

export const centsField = z
  .number("must be a number of cents")
  .int("must be a whole number of cents")
  .min(0, "must not be negative")
  .max(900_000_000, "must be at most 900000000");
export const periodField = z.enum(["day", "week", "month"], "must be day, week or month");
/** At a percentage of the ceiling, or never. */
export const lowersField = z
  .union([z.literal(50), z.literal(80), z.null()], "must be 50 or 80, in percent of the ceiling, or null")
  .optional();
const rate = z
  .number("must be a number or null")
  .int("must be a whole number")
  .min(1, "must be at least 1")
  .max(RATE_MAX, `must be at most ${RATE_MAX}`)
  .nullish();
export const rateFields = { requests_per_minute: rate, tokens_per_minute: rate };

export const timeField = z.iso
  .datetime({ offset: true, error: "must be a time in ISO 8601, such as 2027-01-31T12:00:00Z" })
  .transform((text) => Date.parse(text));
/** How long an old secret may stay valid beside the new one: at most a week. */
const OVERLAP_SECONDS_MAX = 7 * 86_400;
export const overlapField = z
  .number("must be a number of seconds")
  .int("must be a whole number of seconds")
  .min(0, "must not be negative")
  .max(OVERLAP_SECONDS_MAX, `must be at most ${OVERLAP_SECONDS_MAX}`);

const ceilingFields = {
  ceiling_cents: centsField.nullish(),
  ceiling_period: periodField.optional(),
  lower_at: lowersField,
};

const groupFields = {
  ...ceilingFields,
  ...rateFields,
  services: servicesSchema.nullish(),
  models: modelsSchema.nullish(),
  ...ruleOfRunsFields,
};
const name = z.string("must be text").trim().min(1, "must not be empty").max(100, "must have at most 100 characters");

export const newGroupSchema = z.strictObject({ name, ...groupFields });
export const groupChangeSchema = z.strictObject({ name: name.optional(), ...groupFields });
export type GroupChange = z.output<typeof groupChangeSchema>;

export const ceilingSchema = z.strictObject({
  ceiling_cents: centsField,
  ceiling_period: periodField.default(PERIOD),
  lower_at: lowersField,
});
/** A tag's name and value as callers send them. */
export const tagField = z
  .string("must be a tag such as team=red")
  .regex(/^[^\s=,][^=,]{0,39}=[^\p{C}]{1,100}$/u, "must be a tag such as team=red");

export function badField(path: string, message: string): GatewayError {
  const detail = `${path}: ${message}`;
  return new GatewayError("bad_request", { detail, param: path, data: { fields: [{ path, message }] } });
}

export function ceilingOf(body: z.output<typeof ceilingSchema>): Ceiling {
  return { nano: nanoFromCents(body.ceiling_cents), period: body.ceiling_period, lowersAt: body.lower_at ?? null };
}

/** The ceiling after a change, which may set only a part of it. */
function ceilingAfter(before: Ceiling | null, change: GroupChange): Ceiling | null {
  const { ceiling_cents: cents, ceiling_period: period, lower_at: lowersAt } = change;
  const nano = cents === undefined ? (before?.nano ?? null) : cents === null ? null : nanoFromCents(cents);
  if (nano === null) {
    if (period !== undefined) throw badField("ceiling_period", "needs a ceiling_cents beside it");
    if (lowersAt != null) throw badField("lower_at", "needs a ceiling_cents beside it");
    return null;
  }
  return {
    nano,
    period: period ?? before?.period ?? PERIOD,
    lowersAt: lowersAt === undefined ? (before?.lowersAt ?? null) : lowersAt,
  };
}

export function ratesAfter(
  before: Rates,
  change: { readonly [name in keyof typeof rateFields]?: number | null | undefined },
): Rates {
  const { requests_per_minute: requests, tokens_per_minute: tokens } = change;
  return {
    requestsPerMinute: requests === undefined ? before.requestsPerMinute : requests,
    tokensPerMinute: tokens === undefined ? before.tokensPerMinute : tokens,
  };
}

export function groupAfter(before: GroupRule, change: GroupChange, selling: Selling): GroupRule {
  const ceiling = ceilingAfter(before.ceiling, change);
  const { services = before.services, models = before.models } = change;
  checkSold({ services, models }, before, selling);
  return {
    ...before,
    name: change.name ?? before.name,
    ceiling,
    services,
    models,
    ...ratesAfter(before, change),
    ...ruleOfRunsAfter(change),
  };
}

type Lists = { readonly [list in "services" | "models"]?: readonly string[] | null | undefined };

interface Selling {
  readonly unsold: Unsold;
  readonly sandbox: boolean;
}

/** Throws where a change adds a name that is not for sale. Names already on the list may have left the catalog since. */
export function checkSold(lists: Lists, before: Lists, { unsold, sandbox }: Selling): void {
  const added = (list: keyof Lists) => (lists[list] ?? []).filter((name) => !before[list]?.includes(name));
  const fault = unsold({ services: added("services"), models: added("models") }, { sandbox });
  if (fault !== null) throw badField(fault.list, fault.message);
}

const NO_CEILING = { ceiling_cents: null, ceiling_period: null, lower_at: null };

export function ceilingRow({ nano, period, lowersAt }: Ceiling) {
  return { ceiling_cents: centsDown(nano), ceiling_period: period, lower_at: lowersAt };
}

export function ratesRow({ requestsPerMinute, tokensPerMinute }: Rates) {
  return { requests_per_minute: requestsPerMinute, tokens_per_minute: tokensPerMinute };
}

export function groupRow(group: GroupRule) {
  const { id, name, services, models, createdAtMs } = group;
  const limits = {
    ...(group.ceiling === null ? NO_CEILING : ceilingRow(group.ceiling)),
    services,
    models,
    ...ratesRow(group),
    ...ruleOfRunsRow(group),
  };
  return { id, name, ...limits, created_at: isoTime(createdAtMs) };
}
