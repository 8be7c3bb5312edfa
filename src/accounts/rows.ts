// How accounts, keys and transactions look in answers: snake case, cents, and times as ISO 8601.
import type { AccountRow, KeyRow, PostingRow } from "../account-rows.ts";
import { centsDown, centsUp, minus, NANO_PER_CENT, type Nano, ZERO } from "../money.ts";
import type { TokenUsage } from "../plan.ts";

export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** What is left, never shown larger than it is. */
export function balanceCents(account: AccountRow): number {
  return centsDown(minus(account.grantedNano, account.spentNano));
}

function ceilingCents(nano: Nano | null): number | null {
  return nano === null ? null : nano / NANO_PER_CENT;
}

export function keyRow(key: KeyRow) {
  return {
    id: key.keyId,
    label: key.label,
    external_id: key.externalId,
    primary: key.primary,
    hint: key.hint,
    ceiling_cents: ceilingCents(key.ceilingNano),
    ceiling_period: key.ceilingPeriod,
    spent_cents: centsUp(key.periodSpentNano),
    last_used_at: key.lastUsedAtMs === null ? null : isoTime(key.lastUsedAtMs),
    services: key.services,
    models: key.models,
    expires_at: key.expiresAtMs === null ? null : isoTime(key.expiresAtMs),
    paused: key.paused,
    created_at: isoTime(key.createdAtMs),
  };
}

/** For the account's own eyes. */
export function ownAccountRow(account: AccountRow, key: KeyRow | undefined) {
  return {
    account_id: account.accountId,
    kind: account.kind,
    balance_cents: balanceCents(account),
    held_cents: centsUp(account.heldNano),
    key:
      key === undefined
        ? null
        : {
            id: key.keyId,
            label: key.label,
            ceiling_cents: ceilingCents(key.ceilingNano),
            ceiling_period: key.ceilingPeriod,
            spent_cents: centsUp(key.periodSpentNano),
          },
  };
}

/** For the operator's eyes. */
export function accountRow(account: AccountRow) {
  return {
    account_id: account.accountId,
    name: account.name,
    kind: account.kind,
    created_at: isoTime(account.createdAtMs),
    frozen: account.frozen,
    strict_bounds: account.strictBounds,
    balance_cents: balanceCents(account),
    held_cents: centsUp(account.heldNano),
    granted_cents: centsDown(account.grantedNano),
    spent_cents: centsUp(account.spentNano),
    absorbed_nano_usd: account.absorbedNano,
    inference_cap_cents: centsDown(account.inferenceCapNano),
    rate_limit: { requests_per_minute: account.requestsPerMinute, in_flight: account.inFlightMax },
  };
}

function usageRow(usage: TokenUsage) {
  return {
    input_tokens: usage.inputTokens,
    cache_read_tokens: usage.cacheReadTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    output_tokens: usage.outputTokens,
    reasoning_tokens: usage.reasoningTokens,
  };
}

/** What was called: an action of a service, or a model. */
function calledRow(transaction: PostingRow) {
  if (transaction.served === null) return {};
  if (transaction.operation !== "run") return { model: transaction.served };
  const [service, ...action] = transaction.served.split("/");
  return { service, action: action.join("/") };
}

export function transactionRow(transaction: PostingRow) {
  const charge = transaction.kind === "charge";
  return {
    transaction_id: transaction.transactionId,
    kind: transaction.kind,
    request_id: transaction.requestId,
    created_at: isoTime(transaction.createdAtMs),
    key_id: transaction.keyId,
    endpoint: transaction.operation,
    ...calledRow(transaction),
    charged_cents: charge ? transaction.chargedCents : 0,
    charged_nano_usd: charge ? transaction.amountNano : ZERO,
    ...(charge ? {} : { credited_nano_usd: transaction.amountNano, reference: transaction.reference }),
    usage: transaction.usage === null ? null : usageRow(transaction.usage),
    ...(transaction.estimated ? { estimated: true } : {}),
  };
}
