// DeepSeek, first-hand, at the prices listed on 2026-08-21.
import { bearer, defineAdapter } from "#adapter";

const since = "2026-08-21";
const sizes = { contextTokens: 1_000_000, outputTokensMax: 384_000 };

export default defineAdapter({
  name: "DeepSeek",
  docs: "https://api-docs.deepseek.com/api/create-chat-completion",
  origin: "https://api.deepseek.com/v1",
  auth: bearer,
  maker: "deepseek",
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
      "deepseek-v4-pro": { ...sizes, prices: [{ since, input: "0.435", output: "0.87", cacheRead: "0.003625" }] },
      "deepseek-v4-flash": { ...sizes, prices: [{ since, input: "0.14", output: "0.28", cacheRead: "0.0028" }] },
    },
  },
});
