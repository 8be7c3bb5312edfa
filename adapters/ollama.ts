// Ollama: models on the operator's own machine. Set OLLAMA_BASE_URL to turn it on, and OLLAMA_MODEL for what tiers ask of it.
import { defineAdapter, localServer } from "#adapter";

export default defineAdapter(
  localServer({
    name: "Ollama",
    docs: "https://github.com/ollama/ollama/blob/main/docs/openai.md",
    origin: "http://localhost:11434/v1",
  }),
);
