// vLLM: models on the operator's own machines. Set VLLM_BASE_URL to turn it on, and VLLM_MODEL for what tiers ask of it.
import { bearer, defineAdapter } from "#adapter";

// The server itself knows how much its models can take, so nothing is refused on its behalf. What an image counts for
// is the most that common open models use; it matters only where the environment sets a price.
const free = [{ since: "2026-01-01", input: "0", output: "0" }];

export default defineAdapter({
  name: "vLLM",
  docs: "https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",
  origin: "http://localhost:8000/v1",
  auth: bearer,
  local: true,
  chat: {
    dialect: "chat-completions",
    models: {},
    anyModel: { contextTokens: 1_000_000, parts: { imageTokensMax: 16_384 }, prices: free },
  },
  embeddings: { models: {}, anyModel: { contextTokens: 32_768, prices: free } },
});
