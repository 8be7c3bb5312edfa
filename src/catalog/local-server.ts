// Servers of the operator's own that speak OpenAI's wire: whatever models they have, free unless the environment sets a price.
import type { AdapterSpec } from "./adapter.ts";
import { bearer } from "./auth.ts";

const free = [{ since: "2026-01-01", input: "0", output: "0" }];

/** The adapter of such a server; `<ID>_BASE_URL` turns it on. */
export function localServer(facts: Pick<AdapterSpec, "name" | "docs" | "origin">): AdapterSpec {
  return {
    ...facts,
    auth: bearer,
    local: true,
    chat: {
      dialect: "chat-completions",
      modelsPath: "/models",
      models: {},
      // The server itself knows how much its models can take, so nothing is refused on its behalf. What an image counts for
      // is the most that common open models use; it matters only where the environment sets a price.
      anyModel: { contextTokens: 1_000_000, parts: { imageTokensMax: 16_384 }, prices: free },
    },
    embeddings: { models: {}, anyModel: { contextTokens: 32_768, prices: free } },
  };
}
