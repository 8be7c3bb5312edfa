// The query of a report: its grouping, its postings and its start, parsed from a request.
import { z } from "zod";
import { GatewayError } from "../../core/errors.ts";
import type { FailedCallSearch, PostingSearch, TooWide, UsageField, UsageQuery } from "../../core/usage-rows.ts";
import { pageSchema } from "./list-pages.ts";

const DAY_MS = 86_400_000;
export const USAGE_FIELDS: readonly UsageField[] = [
  "account",
  "key",
  "model",
  "provider",
  "day",
  "tag",
  "group",
  "run",
];
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z$/;
const MOMENT = "must be a day such as 2026-11-22 or a time such as 2026-11-22T10:00:00Z, in UTC";

/** A date means the whole day: as an end, it includes the day's last moment. */
function moment(isEnd: boolean) {
  return z
    .string()
    .refine((text) => (DATE.test(text) || TIME.test(text)) && Number.isFinite(Date.parse(text)), MOMENT)
    .transform((text) => Date.parse(text) + (isEnd && DATE.test(text) ? DAY_MS : 0))
    .optional();
}

const name = z.string().min(1, "must not be empty").max(200).optional();

const filterSchema = pageSchema.extend({
  format: z.enum(["json", "csv"], "must be json or csv").default("json"),
  from: moment(false),
  to: moment(true),
  key: name,
  model: name,
  provider: name,
  tag: z
    .string()
    .regex(/^[^=]+=/, "must be name=value")
    .max(300)
    .optional(),
});

function fields(known: readonly UsageField[]) {
  const isKnown = (field: string): field is UsageField => known.some((one) => one === field);
  return z
    .string()
    .transform((text) => [...new Set(text.split(","))])
    .refine((all) => all.every(isKnown), `must be some of ${known.join(", ")}, separated by commas`)
    .transform((all) => all.filter(isKnown))
    .default(["day"]);
}

const usageStatus = z.enum(["charged", "credited"], "must be charged or credited").default("charged");

/** Sandbox money is not real: it is never added to other accounts' sums by default. */
const sandbox = z
  .enum(["0", "1"], "must be 1 for sandbox accounts alone, or 0 for all others")
  .transform((text) => text === "1")
  .optional();

/** On request the largest sums come first: a single page without a cursor. */
const order = z.literal("amount", "must be amount, or left out").optional();
const onePage = { path: ["cursor"], message: "goes on in the order of the fields; leave out order" };
const isOnePage = (asked: { readonly order?: unknown; readonly cursor?: unknown }) =>
  asked.order === undefined || asked.cursor === undefined;

/** Only these values of the first field of `by`. */
const only = z
  .string()
  .transform((text) => text.split(","))
  .refine((all) => all.length <= 100, "must have at most 100 values, separated by commas")
  .optional();
const onlyOf = { path: ["only"], message: "is for reports whose first field is account, key, model or provider" };
const ONLY: readonly (UsageField | undefined)[] = ["account", "key", "model", "provider"];
const isOnlyOf = (asked: { readonly only?: unknown; readonly by: readonly UsageField[] }) =>
  asked.only === undefined || ONLY.includes(asked.by[0]);

export const usageSchema = filterSchema
  .extend({ by: fields(USAGE_FIELDS), account: name, status: usageStatus, sandbox, order, only })
  .refine(isOnePage, onePage)
  .refine(isOnlyOf, onlyOf);
export const ownUsageSchema = filterSchema
  .extend({ by: fields(USAGE_FIELDS.filter((field) => field !== "account")), status: usageStatus, order, only })
  .refine(isOnePage, onePage)
  .refine(isOnlyOf, onlyOf);
export const searchSchema = filterSchema.extend({
  account: name,
  status: z
    .enum(["charged", "credited", "failed", "refused"], "must be charged, credited, failed or refused")
    .optional(),
});

/** For an account's own search. */
export const ownSearchSchema = searchSchema.omit({ account: true, format: true });

type Filters = z.output<typeof filterSchema>;

function filtersOf(
  { limit, cursor, from, to, key, model, provider, tag }: Omit<Filters, "format">,
  account: string | undefined,
) {
  return {
    accountId: account ?? null,
    keyId: key ?? null,
    model: model ?? null,
    provider: provider ?? null,
    tag: tag ?? null,
    fromMs: from ?? null,
    toMs: to ?? null,
    limit,
    cursor: cursor ?? null,
  };
}

export function usageQuery(
  asked: z.output<typeof ownUsageSchema> & { readonly sandbox?: boolean | undefined },
  account: string | undefined,
): UsageQuery {
  // A query that names accounts or keys determines the kind of money.
  const isNamed = account !== undefined || asked.key !== undefined || asked.only !== undefined;
  const sandbox = asked.sandbox ?? (isNamed ? null : false);
  const largestFirst = asked.order === "amount";
  const only = asked.only === undefined ? {} : { only: asked.only };
  return { ...filtersOf(asked, account), by: asked.by, kind: asked.status, sandbox, largestFirst, ...only };
}

/** Postings, or calls without one. */
export function searchOf(
  asked: Omit<z.output<typeof searchSchema>, "format">,
): { readonly postings: PostingSearch } | { readonly failed: FailedCallSearch } {
  const filters = filtersOf(asked, asked.account);
  const { status = null } = asked;
  if (status === "failed" || status === "refused") return { failed: { ...filters, status } };
  return { postings: { ...filters, kind: status } };
}

/** Reports that must read postings are limited to one day: names the field that requires it. */
export function tooWideError({ tooWide }: TooWide): GatewayError {
  const detail = `${tooWide}: with this, from and to must be given and lie within one UTC day.`;
  return new GatewayError("bad_request", { detail, param: tooWide });
}
