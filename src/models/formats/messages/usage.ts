// Usage as the messages wire has it: the prompt in three buckets that do not overlap, and what the call cost.
import { usdNumber } from "../../../core/money.ts";
import type { Charge, Cost } from "../../../core/plan.ts";
import type { TokenUsage } from "../../../core/route.ts";

/** The counts of an answer, and `cost` in USD, which this wire's clients pass over. */
export function usageJson(
  usage: TokenUsage,
  charge: Charge,
  { actions }: Pick<Cost, "actions"> = {},
): Record<string, unknown> {
  return {
    input_tokens: usage.inputTokens,
    cache_creation_input_tokens: usage.cacheWriteTokens,
    cache_read_input_tokens: usage.cacheReadTokens,
    output_tokens: usage.outputTokens,
    output_tokens_details: { thinking_tokens: usage.reasoningTokens },
    cost: usdNumber(charge.chargedNano),
    ...(actions === undefined ? {} : { actions }),
  };
}

/** What a stream's first event says: the prompt by a rough count, because vendors tell theirs with the end. */
export function firstUsage(promptTokens: number): Record<string, unknown> {
  return {
    input_tokens: promptTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 1,
  };
}
