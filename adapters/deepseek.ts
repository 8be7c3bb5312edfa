// DeepSeek, first-hand, at the prices listed on 2026-09-23: those of its peak hours (01:00 to 04:00 and 06:00 to 10:00 UTC), because a
// price here has no hours; at other times it takes half of them.
import { bearer, defineAdapter } from "#adapter";

const since = "2026-09-23";
const sizes = { contextTokens: 1_000_000, outputTokensMax: 384_000 };

const completes = {
  kind: "completion",
  dialect: "openai-completion",
  origin: "beta",
  outputTokensMax: 4_096,
  fillsIn: true,
  omits: ["user"],
  refuses: ["n", "seed", "min_tokens"],
} as const;

export default defineAdapter({
  name: "DeepSeek",
  docs: "https://api-docs.deepseek.com/api/create-chat-completion",
  origin: "https://api.deepseek.com/v1",
  auth: bearer,
  maker: "deepseek",
  origins: { beta: "https://api.deepseek.com/beta" },
  chat: {
    dialect: "chat-completions",
    dropFields: ["cache_control"],
    takes: {
      messageFields: ["name", "reasoning_content", "prefix"],
      developerRole: "system",
      thoughtsWithCalls: "reasoning_content",
      formats: "json_object",
      efforts: ["high", "max"],
    },
    cacheReadAt: ["/prompt_tokens_details/cached_tokens", "/prompt_cache_hit_tokens"],
    models: {
      "deepseek-v4-pro": { ...sizes, prices: [{ since, input: "1.32", output: "3.96", cacheRead: "0.044" }] },
      "deepseek-v4-flash": { ...sizes, prices: [{ since, input: "0.44", output: "1.32", cacheRead: "0.014" }] },
    },
  },
  // Bare completions are at its address for what is new, with shorter answers.
  unitModels: {
    "deepseek-v4-pro": {
      ...completes,
      prices: [{ since, textIn: "1.32", cachedIn: "0.044", textOut: "3.96" }],
    },
    "deepseek-v4-flash": {
      ...completes,
      prices: [{ since, textIn: "0.44", cachedIn: "0.014", textOut: "1.32" }],
    },
  },
});
