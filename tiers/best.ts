// The strongest models, which may think for a while before they answer, with no small model as a fallback: if none of them is configured,
// the tier is not served. The last ones are the operator's own servers.
import { defineTier } from "#tier";

export default defineTier({
  purpose: "The hardest work, at the price of the strongest models.",
  standsInFor: ["claude-"],
  lower: "mid",
  firstTokenMsMax: 45_000,
  // Opus 5.5 comes first: the newest of the strongest, at 4 and 20 USD per million tokens; Opus 5 costs 5 and 25.
  candidates: [
    { model: "anthropic/claude-opus-5.5" },
    { model: "openai/gpt-6.1-sol" },
    { model: "google/gemini-4-argon" },
    { model: "x-ai/grok-4.7" },
    { model: "moonshotai/kimi-k3.1-pro" },
    { model: "z-ai/glm-5.3" },
    { model: "deepseek/deepseek-v4-pro" },
    { model: "mistralai/mistral-large-4" },
    { model: "ollama/*" },
    { model: "vllm/*" },
    { model: "custom/*" },
  ],
});
