// Mid-range models: good at most things, at a few cents for a long answer. The last ones are the operator's own servers.
import { defineTier } from "#tier";

export default defineTier({
  purpose: "Everyday work: tools, code, longer texts, at a moderate price.",
  standsInFor: ["claude-sonnet-", "claude-3-5-sonnet", "claude-3-7-sonnet"],
  lower: "cheap",
  firstTokenMsMax: 12_000,
  // Terra 6.1 comes first: a new generation at 1 and 5 USD per million tokens; others of its strength cost 2 and 10.
  candidates: [
    { model: "openai/gpt-6.1-terra" },
    { model: "google/gemini-3.8-flash" },
    { model: "anthropic/claude-sonnet-5.5" },
    { model: "mistralai/mistral-large-4" },
    { model: "deepseek/deepseek-v4-pro" },
    { model: "deepseek/deepseek-v4.1-flash" },
    { model: "x-ai/grok-4.3" },
    { model: "z-ai/glm-5.3-flash" },
    { model: "qwen/qwen3.8-27b" },
    { model: "openai/gpt-oss-120b" },
    { model: "ollama/*" },
    { model: "vllm/*" },
    { model: "custom/*" },
  ],
});
