// Together: open models, at the prices listed on 2026-08-21.
import { bearer, defineAdapter } from "#adapter";

const since = "2026-08-21";
const gptOss = { contextTokens: 131_072, tokenizer: "o200k" } as const;
const glm = { contextTokens: 202_752 };
const qwen = { contextTokens: 262_144 };

const completes = { kind: "completion", dialect: "openai-completion", refuses: ["min_tokens"] } as const;

export default defineAdapter({
  name: "Together",
  docs: "https://docs.together.ai/reference/chat-completions",
  origin: "https://api.together.xyz/v1",
  auth: bearer,
  chat: {
    dialect: "chat-completions",
    dropFields: ["cache_control", "thinking", "output_config"],
    takes: {
      messageFields: ["name", "reasoning_content"],
      developerRole: "system",
      efforts: ["low", "medium", "high"],
      noThinking: { reasoning: { enabled: false } },
    },
    models: {
      "meta-llama/Llama-3.3-70B-Instruct-Turbo": {
        slug: "meta-llama/llama-3.3-70b-instruct",
        contextTokens: 131_072,
        prices: [{ since, input: "0.88", output: "0.88" }],
      },
      "meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8": {
        slug: "meta-llama/llama-4-maverick",
        contextTokens: 1_048_576,
        prices: [{ since, input: "0.27", output: "0.85" }],
      },
      "openai/gpt-oss-120b": { ...gptOss, prices: [{ since, input: "0.15", output: "0.6" }] },
      "openai/gpt-oss-20b": { ...gptOss, prices: [{ since, input: "0.05", output: "0.2" }] },
      "moonshotai/Kimi-K2.5": {
        slug: "moonshotai/kimi-k2.5",
        contextTokens: 262_144,
        prices: [{ since, input: "0.5", output: "2.8" }],
      },
      "zai-org/GLM-5": { ...glm, slug: "z-ai/glm-5", prices: [{ since, input: "1", output: "3.2" }] },
      "zai-org/GLM-4.6": { ...glm, slug: "z-ai/glm-4.6", prices: [{ since, input: "0.6", output: "2.2" }] },
      "Qwen/Qwen3.5-397B-A17B": {
        ...qwen,
        slug: "qwen/qwen3.5-397b-a17b",
        prices: [{ since, input: "0.6", output: "3.6" }],
      },
      "Qwen/Qwen3-Next-80B-A3B-Instruct": {
        ...qwen,
        slug: "qwen/qwen3-next-80b-a3b-instruct",
        prices: [{ since, input: "0.15", output: "1.5" }],
      },
    },
  },
  unitModels: {
    "meta-llama/Llama-3.3-70B-Instruct-Turbo": {
      ...completes,
      slug: "meta-llama/llama-3.3-70b-instruct",
      inputTokensMax: 131_072,
      prices: [{ since, textIn: "0.88", textOut: "0.88" }],
    },
    "Qwen/Qwen3-Next-80B-A3B-Instruct": {
      ...completes,
      slug: "qwen/qwen3-next-80b-a3b-instruct",
      inputTokensMax: 262_144,
      prices: [{ since, textIn: "0.15", textOut: "1.5" }],
    },
  },
});
