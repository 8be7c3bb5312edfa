// xAI, first-hand, at the prices listed on 2026-08-21.
import { bearer, defineAdapter } from "#adapter";

const since = "2026-08-21";
// An image is cut into at most 7 tiles of 256 tokens; an eighth for good measure.
const sees = { parts: { imageTokensMax: 2_048 } };
const fast = { ...sees, contextTokens: 2_000_000 };
const fastPrices = [{ since, input: "0.2", output: "0.5", cacheRead: "0.05" }];

export default defineAdapter({
  name: "xAI",
  docs: "https://docs.x.ai/docs/api-reference",
  origin: "https://api.x.ai/v1",
  auth: bearer,
  maker: "x-ai",
  otelName: "x_ai",
  chat: {
    dialect: "chat-completions",
    hidesReasoning: true,
    maxTokensField: "max_completion_tokens",
    // Its reasoning models refuse the penalties.
    dropFields: ["presence_penalty", "frequency_penalty"],
    reasoningOutside: true,
    models: {
      "grok-4.5": {
        ...sees,
        contextTokens: 500_000,
        prices: [{ since, input: "2", output: "6", cacheRead: "0.5" }],
      },
      "grok-4.3": {
        ...sees,
        contextTokens: 1_000_000,
        prices: [{ since, input: "1.25", output: "2.5", cacheRead: "0.2" }],
      },
      "grok-4-1-fast-non-reasoning": { ...fast, hidesReasoning: false, slug: "x-ai/grok-4.1-fast", prices: fastPrices },
      "grok-4-1-fast-reasoning": { ...fast, slug: "x-ai/grok-4.1-fast-reasoning", prices: fastPrices },
      "grok-code-fast-1": {
        contextTokens: 256_000,
        prices: [{ since, input: "0.2", output: "1.5", cacheRead: "0.02" }],
      },
      "grok-3": {
        hidesReasoning: false,
        contextTokens: 131_072,
        prices: [{ since, input: "3", output: "15", cacheRead: "0.75" }],
      },
      "grok-3-mini": { contextTokens: 131_072, prices: [{ since, input: "0.3", output: "0.5", cacheRead: "0.075" }] },
    },
  },
});
