// Usage as OpenAI's responses wire has it, and what it cost.
import { usdNumber } from "../../../core/money.ts";
import type { Charge, Cost } from "../../../core/plan.ts";
import type { TokenUsage } from "../../../core/route.ts";

/** The usage object, whose input tokens include the cached ones, and `cost` in USD as on the chat wire, where the charge is known. */
export function usageJson(
  usage: TokenUsage,
  charge: Charge | null,
  { actions }: Pick<Cost, "actions"> = {},
): Record<string, unknown> {
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens } = usage;
  const input = inputTokens + cacheReadTokens + cacheWriteTokens;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cacheReadTokens, cache_write_tokens: cacheWriteTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: input + outputTokens,
    ...(charge === null ? {} : { cost: usdNumber(charge.chargedNano) }),
    ...(actions === undefined ? {} : { actions }),
  };
}
