// Why a key's calls are refused or would be: what refuses them now, the tightest limit on money, the latest refused calls.
import { z } from "zod";
import type { AccountRow, KeyRow, PeriodSums, ScopeOfPeriod } from "../../core/account-rows.ts";
import { ERRORS, type ErrorCode } from "../../core/errors.ts";
import { add, minus, type Nano, usdNumber, usdText } from "../../core/money.ts";
import type { Caller } from "../../core/plan.ts";
import { type FailedCall, type FailedCalls, NO_FILTERS } from "../../core/usage-rows.ts";
import { modelAllowed, serviceAllowed } from "./allowed.ts";
import { noSuchKey } from "./keys.ts";
import type { AccountParts } from "./own-endpoint.ts";
import { isoTime } from "./rows.ts";
import { rulesOf } from "./rules.ts";
import { underRules } from "./under-rules.ts";

const RECENT = 10;

export const whySchema = z.strictObject({
  model: z.string().min(1, "must not be empty").max(200).optional(),
  action: z
    .string()
    .regex(/^[^/]+\/[^/]+$/, "must be <service>/<action>")
    .max(200)
    .optional(),
  address: z.union([z.ipv4(), z.ipv6()], "must be an address such as 203.0.113.7").optional(),
});

export interface WhyParts extends Pick<AccountParts, "books" | "rules" | "clock" | "inferenceScope"> {
  /** Null: past errors are not looked up. */
  readonly failedCalls: FailedCalls | null;
}

interface Reason {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint: string;
  /** When the reason ends by itself; absent: never. */
  readonly until?: string;
}

/** A limit on money, and what is left of it. */
interface Bound {
  readonly code: ErrorCode;
  readonly whose: string;
  readonly leftNano: Nano;
  readonly untilMs?: number;
}

function reason(code: ErrorCode, message: string, untilMs?: number): Reason {
  return { code, message, hint: ERRORS[code].hint, ...(untilMs === undefined ? {} : { until: isoTime(untilMs) }) };
}

const leftOf = (maxNano: Nano, { spentNano, heldNano, absorbedNano }: PeriodSums) =>
  minus(maxNano, add(add(spentNano, heldNano), absorbedNano));

/** Every limit that applies to the key's calls; for tags, those that apply to calls with the tag. */
async function boundsOf(
  { books, inferenceScope }: WhyParts,
  account: AccountRow,
  { budgets = [] }: Pick<Caller, "budgets">,
): Promise<readonly Bound[]> {
  const counted = budgets.flatMap(({ maxNano, ...budget }) => (maxNano === null ? [] : [{ ...budget, maxNano }]));
  const asked: ScopeOfPeriod[] = [...counted, { scope: inferenceScope, period: "day" }];
  const sums = await books.periodSums(account.accountId, asked);
  const inference = sums[counted.length];
  const free = minus(minus(account.grantedNano, account.spentNano), account.heldNano);
  return [
    { code: "insufficient_balance", whose: "the account's balance", leftNano: free },
    ...counted.flatMap(({ maxNano, whose, period, scope }, at): Bound[] => {
      const sum = sums[at];
      if (sum === undefined) return [];
      const code = scope.startsWith("key:") ? "api_key_limit_exceeded" : "budget_exceeded";
      const bound = { code, whose: `the ${period} budget of ${whose}`, leftNano: leftOf(maxNano, sum) } as const;
      return [{ ...bound, untilMs: sum.resetsAtMs }];
    }),
    ...(inference === undefined
      ? []
      : [
          {
            code: "inference_cap",
            whose: "what the account may spend on models in a day",
            leftNano: leftOf(account.inferenceCapNano, inference),
            untilMs: inference.resetsAtMs,
          } as const,
        ]),
  ];
}

/** Rules set by the owner or the operator, besides money. */
function ruled(
  account: AccountRow,
  {
    key,
    under,
    nowMs,
  }: { readonly key: KeyRow; readonly under: Pick<Caller, "allows" | "isFrom">; readonly nowMs: number },
  { model, action, address }: z.output<typeof whySchema>,
): Reason[] {
  const reasons: Reason[] = [];
  if (account.frozen) reasons.push(reason("account_frozen", "The account is frozen."));
  if (key.paused) reasons.push(reason("key_paused", "The key is paused: only what is free may be asked."));
  if (key.expiresAtMs !== null && key.expiresAtMs <= nowMs)
    reasons.push(reason("invalid_token", `The key expired at ${isoTime(key.expiresAtMs)}.`));
  const not = (asked: string) => reasons.push(reason("key_not_allowed", `The key may not call ${asked}.`));
  if (model !== undefined && !modelAllowed(under.allows, model)) not(model);
  const [service = "", name = ""] = action?.split("/") ?? [];
  if (action !== undefined && !serviceAllowed(under.allows, service, name)) not(action);
  if (address !== undefined && under.isFrom?.(address) === false)
    reasons.push(reason("address_not_allowed", `The key may not be used from ${address}.`));
  return reasons;
}

function callRow(call: FailedCall) {
  const { requestId, createdAtMs, status, endpoint, asked, httpStatus, code, message = null } = call;
  const row = { request_id: requestId, at: isoTime(createdAtMs), kind: status, endpoint, asked };
  return { ...row, status: httpStatus, code, message, reason: call.reason ?? message };
}

async function recentCalls(failedCalls: FailedCalls, { accountId, keyId }: KeyRow) {
  const search = { ...NO_FILTERS, accountId, keyId, limit: RECENT, cursor: null };
  const [refused, failed] = await Promise.all([
    failedCalls.find({ ...search, status: "refused" }),
    failedCalls.find({ ...search, status: "failed" }),
  ]);
  const all = [...refused.rows, ...failed.rows].sort((one, other) => other.createdAtMs - one.createdAtMs);
  return all.slice(0, RECENT).map(callRow);
}

/** What currently refuses a key's calls, and its tightest limit, as answered. */
export type WhyShown = Awaited<ReturnType<typeof whyAnswer>>["body"];

/** Explains a key: what currently refuses its calls, and the most that one may cost. */
export async function whyAnswer(
  parts: WhyParts,
  account: AccountRow,
  keyId: string,
  asked: z.output<typeof whySchema>,
) {
  const { books, rules, clock, failedCalls } = parts;
  const key = await books.key(account.accountId, keyId);
  if (key === null) throw noSuchKey(keyId);
  const known = await rulesOf(rules, account.accountId);
  const under = await underRules(key, account, known, (accountId, scopes) => books.periodSums(accountId, scopes));
  const bounds = await boundsOf(parts, account, under);
  const full = bounds
    .filter(({ leftNano }) => leftNano <= 0)
    .map(({ code, whose, untilMs }) => reason(code, `Nothing is left of ${whose}.`, untilMs));
  const reasons = [...ruled(account, { key, under, nowMs: clock.epochMs() }, asked), ...full];
  const tightest = bounds.reduce((one, other) => (other.leftNano < one.leftNano ? other : one));
  return {
    status: 200,
    body: {
      key_id: keyId,
      label: key.label,
      refused: reasons.length > 0,
      reasons,
      most_usd: usdNumber(tightest.leftNano),
      bounded_by: `${tightest.whose} leaves ${usdText(tightest.leftNano)} USD`,
      ...(failedCalls === null ? {} : { recent: await recentCalls(failedCalls, key) }),
    },
  };
}
