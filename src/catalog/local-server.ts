// Servers that the operator runs, with a common wire format: they serve whatever models they have, free by default.

import { bearer } from "./auth.ts";
import type { DialectName } from "./chat-wire.ts";
import type { AdapterSpec } from "./spec.ts";

const free = [{ since: "2026-01-01", input: "0", output: "0" }];

export interface LocalServer extends Pick<AdapterSpec, "name" | "docs" | "origin"> {
  /** The wire format. Default OpenAI's, which can also serve embeddings. */
  readonly dialect?: DialectName;
}

/** The adapter for such a server; `<ID>_BASE_URL` enables it. */
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
      // The server knows its models' limits, so the gateway refuses nothing on its behalf. The token limit per image is the highest among
      // common open models, and matters only if the environment sets a price.
      anyModel: { contextTokens: 1_000_000, parts: { imageTokensMax: 16_384 }, prices: free },
    },
    ...(dialect === "chat-completions" ? { embeddings } : null),
  };
}
