// xAI, first-hand, at the prices listed on 2026-11-23.
import { bearer, defineAdapter } from "#adapter";

const lately = "2026-09-23";
// An image is cut into at most 7 tiles of 256 tokens; an eighth for good measure.
const sees = { parts: { imageTokensMax: 2_048 } };
/** They think in any case. */
const always = { takes: { messageFields: ["name", "reasoning_content"], efforts: ["low", "medium", "high", "xhigh"] } };
// From 200,000 tokens of prompt on the whole call costs more.
const long = (input: string, output: string, cacheRead: string) => ({
  promptTokens: 199_999,
  input,
  output,
  cacheRead,
});

export default defineAdapter({
  name: "xAI",
  docs: "https://docs.x.ai/docs/api-reference",
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
    // Its reasoning models refuse the penalties, and to be told where to stop.
    dropFields: ["presence_penalty", "frequency_penalty", "stop", "cache_control", "thinking", "output_config"],
    takes: { messageFields: ["name", "reasoning_content"], efforts: ["none", "low", "medium", "high", "xhigh"] },
    reasoningOutside: true,
    models: {
      "grok-4.7": {
        ...sees,
        ...always,
        contextTokens: 500_000,
        prices: [{ since: lately, input: "2", output: "6", cacheRead: "0.5", steps: [long("4", "12", "1")] }],
      },
      "grok-4.6": {
        ...sees,
        ...always,
        contextTokens: 500_000,
        prices: [{ since: lately, input: "2", output: "6", cacheRead: "0.5", steps: [long("4", "12", "1")] }],
      },
      "grok-4.5": {
        ...sees,
        ...always,
        contextTokens: 500_000,
        prices: [{ since: lately, input: "2", output: "6", cacheRead: "0.3", steps: [long("4", "12", "0.6")] }],
      },
      "grok-4.3": {
        ...sees,
        contextTokens: 1_000_000,
        prices: [{ since: lately, input: "1.25", output: "2.5", cacheRead: "0.2", steps: [long("2.5", "5", "0.4")] }],
      },
    },
  },
});
