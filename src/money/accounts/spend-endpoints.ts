// What clients of hosted gateways query besides their calls: what a key may still spend, the balance, and the cost of one call.
import type { KeyRow, PostingRow } from "../../core/account-rows.ts";
import type { Answer, Call, EndpointSpec } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { minus, type Nano, usdNumber } from "../../core/money.ts";
import type { Caller } from "../../core/plan.ts";
import type { Books } from "./books.ts";
import { missing } from "./own-endpoint.ts";
import { isoTime } from "./rows.ts";

const RESETS = { day: "daily", week: "weekly", month: "monthly" } as const;
const WINDOW = "60s";

/** Answer ids and request ids share their random part: what follows the prefix leads to the transaction. */
const CALL_ID = /^(?:[a-z]+[-_])?([0-9A-Za-z]{8,64})$/;

type Answering = (caller: Caller, call: Call) => Promise<Answer>;

function endpoint(path: string, answer: Answering): EndpointSpec {
  return {
    method: "GET",
    path,
    auth: "key",
    bodyBytesMax: 0,
    answer(call) {
      if (call.caller === null) throw new GatewayError("invalid_token");
      return answer(call.caller, call);
    },
  };
}

/** For a key without a ceiling, the day's spending is all that is known without adding up. */
function keyAnswer(key: KeyRow, { requestsPerMinute, sandbox, primary }: Caller) {
  const { ceilingNano, periodSpentNano, periodHeldNano } = key;
  const period = key.ceilingPeriod ?? "day";
  const spent = usdNumber(periodSpentNano);
  const remaining = ceilingNano === null ? null : minus(minus(ceilingNano, periodSpentNano), periodHeldNano);
  const usd = (nano: Nano | null) => (nano === null ? null : usdNumber(nano));
  return {
    label: key.label,
    limit: usd(ceilingNano),
    limit_remaining: usd(remaining),
    limit_reset: ceilingNano === null ? null : RESETS[period],
    usage: spent,
    usage_daily: period === "day" ? spent : null,
    usage_weekly: period === "week" ? spent : null,
    usage_monthly: period === "month" ? spent : null,
    is_free_tier: sandbox,
    is_provisioning_key: primary,
    is_management_key: primary,
    expires_at: key.expiresAtMs === null ? null : isoTime(key.expiresAtMs),
    rate_limit: { requests: requestsPerMinute, interval: WINDOW },
  };
}

function generationAnswer(posting: PostingRow) {
  const { usage, legs } = posting;
  const served = legs.findLast(({ ok }) => ok);
  const prompt = usage === null ? null : usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  const cost = usdNumber(posting.amountNano);
  return {
    id: posting.transactionId,
    request_id: posting.requestId,
    created_at: isoTime(posting.createdAtMs),
    api_type: posting.operation,
    model: posting.served ?? posting.asked ?? "",
    provider_name: posting.provider,
    total_cost: cost,
    usage: cost,
    tokens_prompt: prompt,
    tokens_completion: usage?.outputTokens ?? null,
    native_tokens_prompt: prompt,
    native_tokens_completion: usage?.outputTokens ?? null,
    native_tokens_reasoning: usage?.reasoningTokens ?? null,
    native_tokens_cached: usage?.cacheReadTokens ?? null,
    generation_time: served?.ms ?? null,
    // The version of a fee has a `*`: the call used the account's own provider key.
    is_byok: posting.priceVersion?.includes("*") === true,
    provider_responses: legs.map(({ vendor, ok, ms }) => ({
      provider_name: vendor,
      status: ok ? 200 : null,
      latency: ms,
    })),
  };
}

/** `/key`, `/credits` and `/generation?id=`, below the path of the language models. */
export function spendEndpoints(books: Books): readonly EndpointSpec[] {
  return [
    endpoint("/key", async (caller) => {
      const key = await books.key(caller.payer.accountId, caller.payer.keyId);
      if (key === null) throw new GatewayError("invalid_token");
      return { status: 200, body: { data: keyAnswer(key, caller) } };
    }),
    endpoint("/credits", async ({ payer }) => {
      const account = await books.account(payer.accountId);
      if (account === null) throw new GatewayError("invalid_token", { detail: "The account is gone." });
      const { grantedNano, spentNano } = account;
      return {
        status: 200,
        body: { data: { total_credits: usdNumber(grantedNano), total_usage: usdNumber(spentNano) } },
      };
    }),
    endpoint("/generation", async ({ payer, primary }, { request }) => {
      const id = request.query.get("id") ?? "";
      if (id === "") {
        throw new GatewayError("bad_request", { param: "id", detail: "id: is missing, must be a string" });
      }
      const [, call] = CALL_ID.exec(id) ?? [];
      const posting = call === undefined ? null : await books.transaction(payer.accountId, `tx_${call}`);
      const isOwn = posting !== null && posting.kind === "charge" && (primary || posting.keyId === payer.keyId);
      if (isOwn) return { status: 200, body: { data: generationAnswer(posting) } };
      throw missing("transaction", "There is no such generation.");
    }),
  ];
}
