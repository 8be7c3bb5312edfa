// Cerebras: open models, fastest of all, at the prices listed on 2026-11-23.
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
    // It refuses every field that it does not know. These are hints that an answer does not depend on, and samplers that it lacks.
    dropFields:
      "metadata store prompt_cache_key safety_identifier verbosity cache_control thinking output_config safetySettings include_reasoning top_k top_a min_p repetition_penalty".split(
        " ",
      ),
    takes: { messageFields: ["name"], developerRole: "system", efforts: ["low", "medium", "high"] },
    // Nothing is known of its billing after a hang-up, so the worse is taken.
    models: {
      "gpt-oss-120b": {
        slug: "openai/gpt-oss-120b",
        contextTokens: 131_072,
        outputTokensMax: 32_768,
        tokenizer: "o200k",
        ...price("0.35/0.75"),
      },
      // Unsure: its longest prompt, which others say is half of this.
      "qwen-3.8-27b": {
        slug: "qwen/qwen3.8-27b",
        contextTokens: 131_072,
        outputTokensMax: 32_768,
        takes: { messageFields: ["name"], developerRole: "system", efforts: ["none", "low", "medium", "high"] },
        ...price("0.99/1.49", "2026-11-03"),
      },
      // Gone since that day, or before it.
      "gemma-4-31b": {
        retires: { on: "2026-11-22", successor: "qwen/qwen3.8-27b" },
        slug: "google/gemma-4-31b",
        contextTokens: 131_072,
        ...price("0.99/1.49", "2026-09-23"),
      },
    },
  },
});
