// Cerebras: open models at the highest speed, at the prices listed on 2026-11-23.
import { bearer, defineAdapter, modelRows } from "#adapter";

const since = "2026-08-21";
const { price } = modelRows(since);

export default defineAdapter({
  name: "Cerebras",
  docs: "https://inference-docs.cerebras.ai/resources/openai",
  beliefs: { "*": "how long a prompt of its newest model may be" },
  origin: "https://api.cerebras.ai/v1",
  auth: bearer,
  chat: {
    dialect: "chat-completions",
    maxTokensField: "max_completion_tokens",
    // It rejects unknown fields. These are hints that do not affect an answer, and sampling params that it lacks.
    dropFields:
      "metadata store prompt_cache_key safety_identifier verbosity cache_control thinking output_config safetySettings include_reasoning top_k top_a min_p repetition_penalty".split(
        " ",
      ),
    takes: { messageFields: ["name"], developerRole: "system", efforts: ["low", "medium", "high"] },
    // Its billing after a disconnect is unknown, so we assume the worse.
    models: {
      "gpt-oss-120b": {
        slug: "openai/gpt-oss-120b",
        contextTokens: 131_072,
        outputTokensMax: 32_768,
        tokenizer: "o200k",
        ...price("0.35/0.75"),
      },
      // Unsure: the maximum prompt; other sources say half of this.
      "qwen-3.8-27b": {
        slug: "qwen/qwen3.8-27b",
        contextTokens: 131_072,
        outputTokensMax: 32_768,
        takes: { messageFields: ["name"], developerRole: "system", efforts: ["none", "low", "medium", "high"] },
        ...price("0.99/1.49", "2026-11-03"),
      },
      // Ended on or before that day.
      "gemma-4-31b": {
        retires: { on: "2026-11-22", successor: "qwen/qwen3.8-27b" },
        slug: "google/gemma-4-31b",
        contextTokens: 131_072,
        ...price("0.99/1.49", "2026-09-23"),
      },
    },
  },
});
