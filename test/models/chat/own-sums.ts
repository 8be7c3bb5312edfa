// What a call must cost by the public price list, computed independently of the gateway's own arithmetic.

import type OpenAI from "openai";
import { expect } from "vitest";
import type { TestAccount, TestGateway } from "../../support/gateway.ts";
import { getAs } from "../../support/keyed-fetch.ts";

/** Usage as the gateway sends it: OpenAI's fields, and the gateway's additions. */
export interface GatewayUsage extends OpenAI.CompletionUsage {
  readonly cost: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number; readonly cache_write_tokens: number };
  readonly completion_tokens_details: { readonly reasoning_tokens: number };
}

interface Pricing {
  readonly prompt: string;
  readonly completion: string;
  readonly input_cache_read: string;
  readonly input_cache_write: string;
}

/** The models named after faults are not for sale, so only docs/guides/sandbox.md has their prices. */
const OF_SANDBOX: Pricing = {
  prompt: "0.000001",
  completion: "0.000002",
  input_cache_read: "0.0000001",
  input_cache_write: "0.000001",
};

/** Converts USD per token, a decimal string, to trillionths of a dollar. */
function pico(usd: string): bigint {
  const [whole = "0", fraction = ""] = usd.split(".");
  if (fraction.length > 12) throw new Error(`finer than a pico-USD: ${usd}`);
  return BigInt(whole + fraction.padEnd(12, "0"));
}

async function pricingOf(gateway: TestGateway, slug: string): Promise<Pricing> {
  if (slug.startsWith("sandbox")) return OF_SANDBOX;
  const response = await fetch(`${gateway.url}/api/llm/v1/models/${slug}`);
  const { pricing } = (await response.json()) as { pricing: Pricing };
  return pricing;
}

/** The cost of `usage` in nano-USD, rounded up once. */
async function ownSum(gateway: TestGateway, slug: string, usage: GatewayUsage): Promise<bigint> {
  const pricing = await pricingOf(gateway, slug);
  const { cached_tokens, cache_write_tokens } = usage.prompt_tokens_details;
  const fresh = usage.prompt_tokens - cached_tokens - cache_write_tokens;
  const inPico =
    BigInt(fresh) * pico(pricing.prompt) +
    BigInt(cached_tokens) * pico(pricing.input_cache_read) +
    BigInt(cache_write_tokens) * pico(pricing.input_cache_write) +
    BigInt(usage.completion_tokens) * pico(pricing.completion);
  return (inPico + 999n) / 1000n;
}

export interface Posting {
  readonly transaction_id: string;
  readonly request_id: string;
  readonly model: string;
  readonly charged_nano_usd: string | number;
  readonly usage: Record<string, unknown> | null;
}

/** A request's posting; undefined where it was not charged. */
export async function postingOf(
  gateway: TestGateway,
  account: TestAccount,
  requestId: string | null,
): Promise<Posting | undefined> {
  const response = await getAs(account.key, `${gateway.url}/api/v1/transactions?limit=1000`);
  const { transactions } = (await response.json()) as { transactions: Posting[] };
  return transactions.find(({ request_id }) => request_id === requestId);
}

/** Checks that an answer's usage, its posting and our own sum agree. */
export async function expectOwnSum(
  gateway: TestGateway,
  account: TestAccount,
  answer: { readonly requestId: string | null; readonly slug: string; readonly usage: unknown },
): Promise<GatewayUsage> {
  const told = answer.usage as GatewayUsage;
  const posting = await postingOf(gateway, account, answer.requestId);
  expect(posting?.model).toBe(answer.slug);
  expect(BigInt(Math.round(told.cost * 1e9))).toBe(BigInt(posting?.charged_nano_usd ?? -1));
  expect(BigInt(posting?.charged_nano_usd ?? -1)).toBe(await ownSum(gateway, answer.slug, told));
  expect(told.total_tokens).toBe(told.prompt_tokens + told.completion_tokens);
  return told;
}
