// The small models: a fraction of a cent, first words fast. The last ones are the operator's own servers.
import { defineTier } from "#tier";

export default defineTier({
  purpose: "Short and simple work at the lowest price.",
  firstTokenMsMax: 8_000,
  candidates: [
    { model: "google/gemini-3.5-flash-lite" },
    { model: "openai/gpt-6-luna" },
    { model: "deepseek/deepseek-v4-flash" },
    { model: "mistralai/mistral-small-2603" },
    { model: "openai/gpt-oss-20b" },
    { model: "openai/gpt-oss-120b" },
    { model: "x-ai/grok-4.3" },
    { model: "anthropic/claude-haiku-4.5" },
    { model: "ollama/*" },
    { model: "vllm/*" },
    { model: "custom/*" },
  ],
});
