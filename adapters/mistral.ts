// Mistral, first-hand, at the prices listed on 2026-11-23.
import { bearer, defineAdapter, modelRows } from "#adapter";

const since = "2026-08-21";
const { price } = modelRows(since);
/** An answer may fill the context. */
const filled = (tokens: number) => ({ contextTokens: tokens, outputTokensMax: tokens });
const context = filled(262_144);
// An image is scaled down to 1,540 pixels a side and cut into patches of 28: at most 55 x 55, plus a token per row. Models with patches of
// 16 stop at 1,024 pixels, which is 64 x 64 plus a token per row.
const sees = { ...context, parts: { imageTokensMax: 4_200 } };
/** Ended on or before that day. */
const ended = { retires: { on: "2026-11-22", successor: "mistralai/mistral-large-4" } };
/** What its wire supports, besides effort levels, which few of its models have. */
const takes = {
  messageFields: ["prefix"],
  developerRole: "system" as const,
  toolIds: "nine" as const,
  renamed: { seed: "random_seed" },
};

export default defineAdapter({
  name: "Mistral",
  docs: "https://docs.mistral.ai/api",
  beliefs: { "*": "how long the answers of some of its models may be" },
  origin: "https://api.mistral.ai/v1",
  auth: bearer,
  maker: "mistralai",
  otelName: "mistral_ai",
  chat: {
    dialect: "chat-completions",
    // It rejects unknown fields with 422; these are hints that do not affect an answer.
    dropFields:
      "user store metadata prompt_cache_key safety_identifier verbosity cache_control thinking output_config safetySettings include_reasoning reasoning_format top_k top_a min_p repetition_penalty".split(
        " ",
      ),
    takes: { ...takes, efforts: [] },
    answersInParts: true,
    streamUsage: "always",
    models: {
      "mistral-large-4": {
        ...sees,
        contextTokens: 1_048_576,
        takes: { ...takes, efforts: ["low", "medium", "high"] },
        ...price("0.7/2.1/0.07", "2026-10-29"),
      },
      "mistral-medium-2604": {
        ...sees,
        slug: "mistralai/mistral-medium-3.5",
        takes: { ...takes, efforts: ["none", "high"] },
        ...price("1.5/7.5/0.15"),
      },
      "mistral-large-2512": { ...sees, ...price("0.5/1.5/0.05") },
      "mistral-medium-2508": {
        ...sees,
        slug: "mistralai/mistral-medium-3.1",
        ...filled(128_000),
        ...price("0.4/2/0.04"),
      },
      "mistral-small-2603": {
        ...sees,
        outputTokensMax: 256_000,
        takes: { ...takes, efforts: ["none", "high"] },
        ...price("0.15/0.6/0.015"),
      },
      "ministral-14b-2512": { ...sees, ...price("0.2/0.2/0.02") },
      "ministral-3b-2512": { ...sees, ...filled(131_072), ...price("0.1/0.1/0.01") },
      "codestral-2508": { contextTokens: 256_000, outputTokensMax: 128_000, ...price("0.3/0.9/0.03") },
      "devstral-2512": { ...context, ...ended, ...price("0.4/2/0.04") },
    },
  },
  embeddings: { models: { "mistral-embed": { contextTokens: 8_192, ...price("0.1/0") } } },
  unitModels: {
    "codestral-2508": {
      kind: "completion",
      dialect: "openai-completion",
      path: "/fim/completions",
      inputTokensMax: 256_000,
      fillsIn: true,
      renamed: { seed: "random_seed" },
      // It rejects unknown fields and sends usage without being asked.
      omits: ["stream_options", "user"],
      refuses: ["n", "logprobs", "presence_penalty", "frequency_penalty"],
      prices: [{ since, textIn: "0.3", cachedIn: "0.03", textOut: "0.9" }],
    },
  },
});
