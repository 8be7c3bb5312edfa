// xAI, first-hand, at the prices listed on 2026-11-23.
import { bearer, defineAdapter, modelRows } from "#adapter";

// An image is cut into at most 7 tiles of 256 tokens; plus an eighth as a margin.
const sees = { parts: { imageTokensMax: 2_048 } };
/** Models that always think. */
const always = {
  ...sees,
  contextTokens: 500_000,
  outputTokensMax: 500_000,
  takes: { messageFields: ["name", "reasoning_content"], efforts: ["low", "medium", "high", "xhigh"] },
};
// With more than 199,999 prompt tokens, the whole call costs twice as much.
const { price } = modelRows("2026-09-23");
const twice = (rates: string, doubled: string) => price(rates, undefined, [199_999, doubled]);

export default defineAdapter({
  name: "xAI",
  docs: "https://docs.x.ai/docs/api-reference",
  beliefs: { "*": "how long the answers of some of its models may be" },
  origin: "https://api.x.ai/v1",
  auth: bearer,
  maker: "x-ai",
  pricedAs: "x-ai",
  otelName: "x_ai",
  chat: {
    dialect: "chat-completions",
    toolCalls: "strict",
    hidesReasoning: true,
    maxTokensField: "max_completion_tokens",
    // Its reasoning models reject penalties and stop sequences.
    dropFields: ["presence_penalty", "frequency_penalty", "stop", "cache_control", "thinking", "output_config"],
    takes: { messageFields: ["name", "reasoning_content"], efforts: ["none", "low", "medium", "high", "xhigh"] },
    reasoningOutside: true,
    models: {
      "grok-4.7": { ...always, ...twice("2/6/0.5", "4/12/1") },
      "grok-4.6": { ...always, ...twice("2/6/0.5", "4/12/1") },
      "grok-4.5": { ...always, ...twice("2/6/0.3", "4/12/0.6") },
      "grok-build-0.1": { ...always, contextTokens: 256_000, outputTokensMax: 256_000, ...twice("1/2/0.2", "2/4/0.4") },
      "grok-4.3": { ...sees, contextTokens: 1_000_000, outputTokensMax: 30_000, ...twice("1.25/2.5/0.2", "2.5/5/0.4") },
    },
  },
});
