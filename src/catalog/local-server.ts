// Servers of the operator's own, which speak a wire that others speak: whatever models they have, free unless the environment sets a price.

import { bearer } from "./auth.ts";
import type { DialectName } from "./chat-wire.ts";
import type { AdapterSpec } from "./spec.ts";

const free = [{ since: "2026-01-01", input: "0", output: "0" }];

export interface LocalServer extends Pick<AdapterSpec, "name" | "docs" | "origin"> {
  /** Its wire. Default OpenAI's, in which it may sell embeddings as well. */
  readonly dialect?: DialectName;
}

/** The adapter of such a server; `<ID>_BASE_URL` turns it on. */
export function localServer({ dialect = "chat-completions", ...facts }: LocalServer): AdapterSpec {
  const embeddings = { models: {}, anyModel: { contextTokens: 32_768, prices: free } };
  return {
    ...facts,
    auth: bearer,
    local: true,
    chat: {
      dialect,
      modelsPath: "/models",
      models: {},
      // The server itself knows how much its models can take, so nothing is refused on its behalf. What an image counts for
      // is the most that common open models use; it matters only where the environment sets a price.
      anyModel: { contextTokens: 1_000_000, parts: { imageTokensMax: 16_384 }, prices: free },
    },
    ...(dialect === "chat-completions" ? { embeddings } : null),
  };
}
