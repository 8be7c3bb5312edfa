// The strongest models, which may think for a while before they answer. The last ones are the operator's own servers.
import { defineTier } from "#tier";

export default defineTier({
  purpose: "The hardest work, at the price of the strongest models.",
  firstTokenMsMax: 45_000,
  candidates: [
    { model: "anthropic/claude-opus-5" },
    { model: "openai/gpt-5.5" },
    { model: "google/gemini-3.8-flash" },
    { model: "x-ai/grok-4.5" },
    { model: "moonshotai/kimi-k2.6" },
    { model: "z-ai/glm-5" },
    { model: "deepseek/deepseek-v4-pro" },
    { model: "mistralai/mistral-large-2512" },
    { model: "openai/gpt-oss-120b" },
    { model: "ollama/*" },
    { model: "vllm/*" },
    { model: "custom/*" },
  ],
});
