// The middle: good at most things, at some cents for a long answer. The last ones are the operator's own servers.
import { defineTier } from "#tier";

export default defineTier({
  purpose: "Everyday work: tools, code, longer texts, at a moderate price.",
  firstTokenMsMax: 12_000,
  candidates: [
    { model: "openai/gpt-5.4-mini" },
    { model: "google/gemini-3.6-flash" },
    { model: "anthropic/claude-haiku-4.5" },
    { model: "mistralai/mistral-large-2512" },
    { model: "deepseek/deepseek-v4-pro" },
    { model: "x-ai/grok-4.3" },
    { model: "openai/gpt-oss-120b" },
    { model: "ollama/*" },
    { model: "vllm/*" },
    { model: "custom/*" },
  ],
});
