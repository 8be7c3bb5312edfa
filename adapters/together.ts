// Together: open models, at the prices listed on 2026-11-23. Unsure: whether the older ones without an end here are still served; two of
// three lists do not say.
import { bearer, defineAdapter, ended, modelRows } from "#adapter";

const since = "2026-08-21";
const { price, sold } = modelRows("2026-11-03");
const gptOss = { contextTokens: 131_072, outputTokensMax: 131_072, tokenizer: "o200k" } as const;
const llamaEnd = ended("2026-10-22", "meta-models/muse-spark-open");
const qwenEnd = ended("2026-04-02", "qwen/qwen3.8-flash");

const completes = { kind: "completion", dialect: "openai-completion", refuses: ["min_tokens"] } as const;

export default defineAdapter({
  name: "Together",
  docs: "https://docs.together.ai/reference/chat-completions",
  beliefs: {
    "*": "whether its older models that have no end here are still served, and how long the answers of some may be",
  },
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
      "moonshotai/Kimi-K3.1-Pro": sold("moonshotai/kimi-k3.1-pro", [1_048_576, 1_048_576], "2/10/0.2"),
      "moonshotai/Kimi-K3": sold("moonshotai/kimi-k3", [1_048_576, 1_048_576], "3/15/0.3"),
      "zai-org/GLM-5.3": sold("z-ai/glm-5.3", [1_048_575, 128_000], "1.4/4.4/0.26"),
      "zai-org/GLM-5.3-Flash": sold("z-ai/glm-5.3-flash", [1_048_575, 128_000], "0.15/0.5/0.03"),
      "deepseek-ai/DeepSeek-V4.1-Flash": sold("deepseek/deepseek-v4.1-flash", [1_048_576, 384_000], "0.3/1.2/0.006"),
      "Qwen/Qwen3.8-Flash": sold("qwen/qwen3.8-flash", [1_000_000, 131_072], "0.15/0.47"),
      "Qwen/Qwen3.7-Plus": sold("qwen/qwen3.7-plus", [1_000_000, 65_536], "0.32/1.28"),
      "MiniMaxAI/MiniMax-M3.1-Flash": sold("minimax/minimax-m3.1-flash", [1_048_576, 512_000], "0.15/0.6/0.015"),
      "meta-models/Muse-Spark-Open-816B-A42B": sold(
        "meta-models/muse-spark-open",
        [1_048_576, 131_072],
        "1.25/4.25/0.15",
      ),
      "meta-llama/Llama-3.3-70B-Instruct-Turbo": {
        ...llamaEnd,
        ...sold("meta-llama/llama-3.3-70b-instruct", [131_072], "0.88/0.88", since),
      },
      "meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8": sold(
        "meta-llama/llama-4-maverick",
        [1_048_576],
        "0.27/0.85",
        since,
      ),
      "openai/gpt-oss-120b": { ...gptOss, ...price("0.15/0.6", since) },
      "openai/gpt-oss-20b": { ...gptOss, ...ended("2026-09-15"), ...price("0.05/0.2", since) },
      // Ended on or before that day.
      "moonshotai/Kimi-K2.5": {
        ...ended("2026-11-22", "moonshotai/kimi-k3.1-pro"),
        ...sold("moonshotai/kimi-k2.5", [262_144], "0.5/2.8", since),
      },
      "zai-org/GLM-5": {
        ...ended("2026-06-22", "z-ai/glm-5.3"),
        ...sold("z-ai/glm-5", [202_752, 128_000], "1/3.2", since),
      },
      "zai-org/GLM-4.6": sold("z-ai/glm-4.6", [202_752, 128_000], "0.6/2.2", since),
      "Qwen/Qwen3.5-397B-A17B": {
        ...ended("2026-06-29", "qwen/qwen3.7-plus"),
        ...sold("qwen/qwen3.5-397b-a17b", [262_144], "0.6/3.6", since),
      },
      "Qwen/Qwen3-Next-80B-A3B-Instruct": {
        ...qwenEnd,
        ...sold("qwen/qwen3-next-80b-a3b-instruct", [262_144], "0.15/1.5", since),
      },
    },
  },
  unitModels: {
    "meta-llama/Llama-3.3-70B-Instruct-Turbo": {
      ...completes,
      retires: { on: "2026-10-22" },
      slug: "meta-llama/llama-3.3-70b-instruct",
      inputTokensMax: 131_072,
      prices: [{ since, textIn: "0.88", textOut: "0.88" }],
    },
    "Qwen/Qwen3-Next-80B-A3B-Instruct": {
      ...completes,
      retires: { on: "2026-04-02" },
      slug: "qwen/qwen3-next-80b-a3b-instruct",
      inputTokensMax: 262_144,
      prices: [{ since, textIn: "0.15", textOut: "1.5" }],
    },
  },
});
