// Per-minute rates of keys and groups: each call takes one request, and tokens up to the most it may use.
import { GatewayError } from "../core/errors.ts";
import type { Caller, Plan } from "../core/plan.ts";
import type { TokenUsage } from "../core/route.ts";
import { type CallRates, MINUTE_SECONDS, type RateTaken } from "../platform/limits/call-rates.ts";

/** What a call has taken; the unused part is returned. */
export interface TakenRates {
  readonly minute: number;
  readonly requests: readonly RateTaken[];
  readonly tokens: readonly RateTaken[];
}

function wanted({ rates = [] }: Caller, { quote }: Plan): Omit<TakenRates, "minute"> {
  const tokens = quote.tokensMax?.() ?? 0;
  return {
    requests: rates.flatMap(({ scope, requestsPerMinute: limit }) =>
      limit === null ? [] : [{ name: `${scope} requests`, limit, amount: 1 }],
    ),
    tokens: rates.flatMap(({ scope, tokensPerMinute: limit }) =>
      limit === null || tokens === 0 ? [] : [{ name: `${scope} tokens`, limit, amount: tokens }],
    ),
  };
}

/** Takes the most that the call may use, or names the rate that has no room. Null where the caller has no rates. */
export async function takeRates(
  caller: Caller,
  plan: Plan,
  rates: CallRates,
): Promise<TakenRates | GatewayError | null> {
  if (caller.rates === undefined) return null;
  const { requests, tokens } = wanted(caller, plan);
  const all = [...requests, ...tokens];
  if (all.length === 0) return null;
  const outcome = await rates.take(caller.payer.accountId, all);
  if ("minute" in outcome) return { minute: outcome.minute, requests, tokens };
  const full = all[outcome.full];
  const detail = { limit: full?.limit ?? 0, window_seconds: MINUTE_SECONDS };
  const [scope, counts] = full?.name.split(" ") ?? [];
  return new GatewayError("rate_limited", {
    detail,
    data: { rate: scope, counts, asked: full?.amount },
    retryAfterSeconds: outcome.resetSeconds,
  });
}

/** Returns the unused part of an admitted call's tokens; null: the call was not admitted, and nothing counts. */
export function giveBackRates(
  taken: TakenRates,
  accountId: string,
  rates: CallRates,
  used: TokenUsage | "none" | null,
): void {
  const tokens =
    used === null || used === "none"
      ? 0
      : used.inputTokens + used.cacheReadTokens + used.cacheWriteTokens + used.outputTokens;
  const unused = taken.tokens.map((one) => ({ ...one, amount: Math.max(0, one.amount - tokens) }));
  const back = used === "none" ? [...taken.requests, ...unused] : unused;
  // What cannot be returned now counts until the minute ends.
  if (back.length > 0) rates.giveBack(accountId, taken.minute, back).catch(() => {});
}
