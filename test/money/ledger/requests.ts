// Requests to the ledger with defaults for fields that a test does not care about.
import type { NewAccount, NewKey, PostedLeg } from "../../../src/core/account-rows.ts";
import { nano } from "../../../src/core/money.ts";
import type { Ledger, PostRequest, ReserveRequest } from "../../../src/money/ledger/model/ledger.ts";

export const CENT = 10_000_000;

export function newKey(keyId: string, more: Partial<NewKey> = {}): NewKey {
  return {
    ...{ keyId, secretHash: `hash of ${keyId}`, hint: "tg_sk_ab...yz", label: keyId, externalId: null },
    ...{ ceilingNano: null, ceilingPeriod: null, services: null, models: null, expiresAtMs: null },
    ...more,
  };
}

/** An account with the primary key `<accountId>.key`. */
export function newAccount(accountId: string, cents: number, more: Partial<NewAccount> = {}): NewAccount {
  return {
    ...{ accountId, name: accountId, kind: "personal", creditNano: nano(cents * CENT) },
    ...{ inferenceCapNano: nano(100_000 * CENT), requestsPerMinute: 600, inFlightMax: 64 },
    primaryKey: newKey(`${accountId}.key`),
    ...more,
  };
}

export function holdRequest(
  hold: { accountId: string; holdId: string; cents: number; nowMs: number },
  more: Partial<ReserveRequest> = {},
): ReserveRequest {
  const { accountId, holdId, cents, nowMs } = hold;
  return {
    ...{ accountId, holdId, keyId: `${accountId}.key`, parentId: null, amountNano: nano(cents * CENT), slots: [] },
    ...{
      inference: true,
      windows: [],
      owner: "process-1",
      leaseMs: 60_000,
      onExpire: "void",
      requestId: `request of ${holdId}`,
    },
    ...{ operation: "chat", asked: "core/cheap", effect: "read", idempotency: null, nowMs },
    ...more,
  };
}

export function postRequest(
  hold: { accountId: string; holdId: string; cents: number },
  more: Partial<PostRequest> = {},
): PostRequest {
  const { accountId, holdId, cents } = hold;
  return {
    ...{ accountId, holdId, amountNano: nano(cents * CENT), upstreamNano: nano(7), absorbReason: "usage_above_hold" },
    ...{ provider: "vendor", served: "maker/model", estimated: false, priceVersion: "2026-01-01", legs: [] },
    tags: ["team=red", `user=${accountId}`],
    usage: { inputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 5, reasoningTokens: 0 },
    ...more,
  };
}

/** A leg that answered and bears the whole cost of `postRequest`. */
export function legOf(more: Partial<PostedLeg>): PostedLeg {
  const leg = {
    vendor: "vendor",
    model: "maker/model",
    upstreamNano: nano(7),
    ok: true,
    ms: 120,
    reason: null,
    count: 1,
  };
  return { ...leg, ...more };
}

/** Holds and posts, for tests that need an existing charge. */
export async function charge(
  ledger: Ledger,
  hold: { accountId: string; holdId: string; cents: number; nowMs: number },
): Promise<void> {
  const held = await ledger.reserve(holdRequest(hold));
  if (held.outcome !== "held") throw new Error(`not held: ${held.outcome}`);
  await ledger.post(postRequest(hold));
}
