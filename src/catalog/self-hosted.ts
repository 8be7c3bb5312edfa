// Servers that the operator runs: a vendor whose software can be self-hosted, and model servers in a known wire format.
import { z } from "zod";
import { actionName } from "./action.ts";
import { ruleSchema } from "./answer-rule.ts";
import { auth, bearer } from "./auth.ts";
import type { DialectName } from "./chat-wire.ts";
import { request } from "./request-spec.ts";
import { envNames, pointer, type Said } from "./said.ts";
import type { AdapterSpec } from "./spec.ts";

const otherwise = z.strictObject({
  request: request.optional(),
  content: z.array(pointer).min(1).optional(),
  rules: z.array(ruleSchema).optional(),
});

/** The vendor's software, run by the operator: how it differs from the vendor's service. */
export const selfHosted = z.strictObject({
  /** How to authenticate, and the variables with the key, all optional. Default: no key is sent. */
  login: z.strictObject({ auth, keyEnv: envNames }).optional(),
  /** Actions that it does not have: they are listed as not configured. */
  lacks: z.array(actionName).optional(),
  /** Overrides of requests and answers, by action. */
  actions: z.record(actionName, otherwise).optional(),
});
export type SelfHostedSpec = Said<z.infer<typeof selfHosted>>;

export const SELF_HOSTED_COST = { upstreamCents: 0, upstreamMissCents: 0 };

/** The reason shown for an action that the vendor sells but the self-hosted server lacks. */
export const NOT_SELF_HOSTED = "The operator runs this vendor's server himself, and it does not have this action.";

const free = [{ since: "2026-01-01", input: "0", output: "0" }];

interface LocalServer extends Pick<AdapterSpec, "name" | "docs" | "origin"> {
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
