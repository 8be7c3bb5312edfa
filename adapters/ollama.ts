// Ollama: models on the operator's own machine. Set OLLAMA_BASE_URL to enable it, and OLLAMA_MODEL for the model that tiers use.
import { defineAdapter, localServer } from "#adapter";

export default defineAdapter(
  localServer({
    name: "Ollama",
    docs: "https://github.com/ollama/ollama/blob/main/docs/openai.md",
    origin: "http://localhost:11434/v1",
  }),
);
