// Small models: a fraction of a cent, with a fast first token. The last ones are the operator's own servers.
import { defineTier } from "#tier";

export default defineTier({
  purpose: "Short and simple work at the lowest price.",
  standsInFor: ["claude-haiku-", "claude-3-haiku", "claude-3-5-haiku"],
  firstTokenMsMax: 8_000,
  // Luna 6 comes first: 0.1 and 0.5 USD per million tokens for prompts of up to 272,000; Haiku 5.5 costs five times as much above 100,000.
  candidates: [
    { model: "openai/gpt-6-luna" },
    { model: "anthropic/claude-haiku-5.5" },
    { model: "deepseek/deepseek-flash" },
    { model: "mistralai/mistral-small-2603" },
    { model: "z-ai/glm-5.3-flash" },
    { model: "deepseek/deepseek-v4.1-flash" },
    { model: "google/gemini-3.5-flash-lite" },
    { model: "openai/gpt-oss-20b" },
    { model: "openai/gpt-oss-120b" },
    { model: "x-ai/grok-4.3" },
    { model: "ollama/*" },
    { model: "vllm/*" },
    { model: "custom/*" },
  ],
});
