// The form of accounts, keys and transactions in answers: snake case, cents, and ISO 8601 times.
import type { AccountRow, KeyRow, PostedLeg, PostingRow } from "../../core/account-rows.ts";
import { centsDown, centsUp, minus, NANO_PER_CENT, type Nano, ZERO } from "../../core/money.ts";
import type { TokenUsage } from "../../core/route.ts";
import type { FoundTransaction } from "./find-transaction.ts";
import { type AccountRules, groupOf, keyRule } from "./rules.ts";
import { ruleOfRunsRow } from "./run-rules.ts";

export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** The balance, rounded so that it is never shown too large. */
export function balanceCents(account: AccountRow): number {
  return centsDown(minus(account.grantedNano, account.spentNano));
}

function ceilingCents(nano: Nano | null): number | null {
  return nano === null ? null : nano / NANO_PER_CENT;
}

/** Replaces the secret's hint in the row of a grant, which has no secret to show. */
export const GRANT_HINT = "grant";

export function keyRow(key: KeyRow, rules: AccountRules) {
  const rule = keyRule(rules, key.keyId);
  return {
    id: key.keyId,
    label: key.label,
    external_id: key.externalId,
    primary: key.primary,
    kind: key.hint === GRANT_HINT ? "grant" : "key",
    hint: key.hint,
    ceiling_cents: ceilingCents(key.ceilingNano),
    ceiling_period: key.ceilingPeriod,
    spent_cents: centsUp(key.periodSpentNano),
    lower_at: rule.lowersAt,
    addresses: rule.addresses,
    cache_seconds: rule.cacheSeconds,
    old_secret_until: rule.former === null ? null : isoTime(rule.former.untilMs),
    group: groupOf(rules, key.keyId)?.id ?? null,
    requests_per_minute: rule.requestsPerMinute,
    tokens_per_minute: rule.tokensPerMinute,
    ...ruleOfRunsRow(rule),
    run: rule.run ?? null,
    last_used_at: key.lastUsedAtMs === null ? null : isoTime(key.lastUsedAtMs),
    services: key.services,
    models: key.models,
    expires_at: key.expiresAtMs === null ? null : isoTime(key.expiresAtMs),
    paused: key.paused,
    created_at: isoTime(key.createdAtMs),
  };
}

/** As the account sees it. */
export function ownAccountRow(account: AccountRow, key: KeyRow | null) {
  return {
    account_id: account.accountId,
    kind: account.kind,
    balance_cents: balanceCents(account),
    held_cents: centsUp(account.heldNano),
    key:
      key === null
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

/** As the operator sees it. */
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

/** The called action of a service, or the called model. */
function calledRow(operation: string | null, called: string | null) {
  if (called === null) return {};
  if (operation !== "run") return { model: called };
  // Earlier releases booked jobs under the bare names of our own actions.
  const [service, ...action] = (called.includes("/") ? called : `core/${called}`).split("/");
  return { service, action: action.join("/") };
}

/** A vendor's part in a charge as its payer sees it, without our cost. */
function legRow({ transactionId, operation }: PostingRow, leg: PostedLeg, at: number) {
  const { vendor, model, ok, ms, reason, count, told } = leg;
  const charged = told === undefined ? {} : { charged_nano_usd: told.nano };
  const row = { id: `${transactionId}.${at + 1}`, vendor, ...calledRow(operation, model), ok, ms, reason, ...charged };
  return count === 1 ? row : { ...row, count };
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
    ...calledRow(transaction.operation, transaction.served),
    charged_cents: charge ? transaction.chargedCents : 0,
    charged_nano_usd: charge ? transaction.amountNano : ZERO,
    ...(charge ? {} : { credited_nano_usd: transaction.amountNano, reference: transaction.reference }),
    usage: transaction.usage === null ? null : usageRow(transaction.usage),
    ...(transaction.estimated ? { estimated: true } : {}),
    ...(transaction.runId === undefined ? {} : { run_id: transaction.runId }),
    ...(transaction.tags.length > 0 ? { tags: transaction.tags } : {}),
  };
}

/** The requested legs, each as `row` renders it. */
function legRows<Row>({ posting, leg: asked }: FoundTransaction, row: (leg: PostedLeg, at: number) => Row): Row[] {
  return posting.legs.flatMap((leg, at) => (asked === null || asked === at ? [row(leg, at)] : []));
}

export function wholeTransactionRow(found: FoundTransaction) {
  const { posting } = found;
  return {
    ...transactionRow(posting),
    ...actionsRow(posting),
    legs: legRows(found, (leg, at) => legRow(posting, leg, at)),
  };
}

function actionsRow({ legs }: PostingRow) {
  const told = legs.flatMap((leg) => leg.told ?? []);
  if (told.length === 0) return {};
  return {
    actions: told.flatMap(({ action, nano, ok }) =>
      action === null ? [] : [{ action, cents: nano / NANO_PER_CENT, ok }],
    ),
  };
}

/** All stored data of a transaction except its legs, for the operator. */
export function foundTransactionRow(transaction: PostingRow) {
  return {
    ...transactionRow(transaction),
    account_id: transaction.accountId,
    parent_id: transaction.parentId,
    asked: transaction.asked,
    served: transaction.served,
    vendor: transaction.provider,
    upstream_nano_usd: transaction.upstreamNano,
    absorbed_nano_usd: transaction.absorbedNano,
    absorb_reason: transaction.absorbReason,
    price_version: transaction.priceVersion,
    reference: transaction.reference,
    reason: transaction.reason,
  };
}

export function operatorTransactionRow(found: FoundTransaction) {
  const { posting: transaction } = found;
  return {
    ...foundTransactionRow(transaction),
    ...actionsRow(transaction),
    legs: legRows(found, (leg, at) => ({ ...legRow(transaction, leg, at), upstream_nano_usd: leg.upstreamNano })),
  };
}
