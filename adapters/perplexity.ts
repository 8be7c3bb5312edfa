// Perplexity, first-hand: models that search the web before they answer, at the prices listed on 2026-09-23. Each call costs a fee for its
// searches beside its tokens, by how much of what they find is read; the smallest is asked for (others list the fee of the largest, 12 and 14
// USD a thousand, so that the fee cannot be held against theirs). sonar-deep-research is not here: what its
// searches and citations cost has no bound.
import { bearer, defineAdapter } from "#adapter";

const since = "2026-09-23";

export default defineAdapter({
  name: "Perplexity",
  docs: "https://docs.perplexity.ai/getting-started/pricing",
  origin: "https://api.perplexity.ai",
  auth: bearer,
  maker: "perplexity",
  chat: {
    dialect: "chat-completions",
    // Unsure: whether it refuses fields that it does not know. Tools are none of its own.
    dropFields: [
      ...["store", "metadata", "prompt_cache_key", "safety_identifier", "verbosity", "cache_control", "seed", "stop"],
      ...["thinking", "output_config", "safetySettings", "include_reasoning", "reasoning_format", "logit_bias"],
    ],
    takes: {
      messageFields: [],
      developerRole: "system",
      efforts: [],
      formats: "json_schema",
      refuses: ["tools", "n"],
      turns: "alternate",
    },
    extraFields: { web_search_options: { search_context_size: "low" } },
    // It says itself what a call cost, searches included.
    costUsdAt: "/cost/total_cost",
    models: {
      sonar: { contextTokens: 128_000, prices: [{ since, input: "1", output: "1", thousandCalls: "5" }] },
      "sonar-pro": {
        contextTokens: 200_000,
        outputTokensMax: 8_000,
        prices: [{ since, input: "3", output: "15", thousandCalls: "6" }],
      },
      "sonar-reasoning-pro": {
        contextTokens: 128_000,
        prices: [{ since, input: "2", output: "8", thousandCalls: "6" }],
      },
    },
  },
});
