// Usage as OpenAI's wire has it, and what it cost.
import { usdNumber } from "../../../core/money.ts";
import type { Charge, Cost } from "../../../core/plan.ts";
import type { TokenUsage } from "../../../core/route.ts";

/** OpenAI's usage object, and `cost` in USD as OpenRouter has it. */
export function usageJson(
  usage: TokenUsage,
  charge: Charge,
  { actions }: Pick<Cost, "actions"> = {},
): Record<string, unknown> {
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens } = usage;
  const prompt = inputTokens + cacheReadTokens + cacheWriteTokens;
  return {
    prompt_tokens: prompt,
    completion_tokens: outputTokens,
    total_tokens: prompt + outputTokens,
    prompt_tokens_details: { cached_tokens: cacheReadTokens, cache_write_tokens: cacheWriteTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
    cost: usdNumber(charge.chargedNano),
    ...(actions === undefined ? {} : { actions }),
  };
}
