// Anthropic, first-hand, at the prices listed on 2026-11-23; cache writes are at the price of the five-minute cache.
import { defineAdapter, keyHeader, modelRows } from "#adapter";

const since = "2026-08-21";
const { price } = modelRows(since);
const lately = "2026-09-23";
const autumn = "2026-11-03";

// An image counts for at most about 1,600 tokens, or 4,784 from opus 4.7 on. A document can fill the context.
const sees = (contextTokens: number, imageTokensMax: number) => ({
  contextTokens,
  parts: { imageTokensMax, fileTokensMax: contextTokens },
});

// From opus 4.7 on, models reject sampling params and take an effort level instead of a thinking budget.
const newer = {
  ...sees(1_000_000, 4_784),
  outputTokensMax: 128_000,
  dropFields: ["temperature", "top_p", "top_k"],
  reasoning: "effort",
} as const;
/** Models that always think. */
const always = { ...newer, reasoning: "effort-always" } as const;
const older = { ...sees(200_000, 1_600), outputTokensMax: 64_000 };

const longer = { ...sees(1_000_000, 1_600), outputTokensMax: 128_000 };

const opus = [{ since, input: "5", output: "25", cacheRead: "0.5", cacheWrite: "6.25" }];
/** With more than 100,000 prompt tokens, the whole call costs five times as much. */
const haiku55 = price("0.1/0.5/0.01/0.125", autumn, [100_000, "0.5/2.5/0.05/0.625"]);

export default defineAdapter({
  name: "Anthropic",
  docs: "https://docs.anthropic.com/en/api/messages",
  origin: "https://api.anthropic.com/v1",
  auth: keyHeader("x-api-key"),
  maker: "anthropic",
  nativeActions: { messages: "messages" },
  headers: { "anthropic-version": "2023-06-01" },
  batches: {
    format: "messages",
    paths: ["/messages"],
    prices: [{ since, percent: 50 }],
    linesMax: 100_000,
    bytesMax: 256_000_000,
    deletes: true,
  },
  chat: {
    dialect: "messages",
    toolCalls: "strict",
    reasoningFormat: "anthropic-claude-v1",
    // Models without effort levels.
    reasoning: "budget",
    models: {
      "claude-fable-5-2": { ...always, slug: "anthropic/claude-fable-5.2", ...price("8/40/0.2/10", autumn) },
      "claude-sonnet-5-5": { ...always, slug: "anthropic/claude-sonnet-5.5", ...price("2/10/0.1/2.5", autumn) },
      "claude-haiku-5-5": { ...newer, slug: "anthropic/claude-haiku-5.5", ...haiku55 },
      "claude-fable-5-1": { ...always, slug: "anthropic/claude-fable-5.1", ...price("10/50/0.25/12.5", lately) },
      "claude-opus-5-5": { ...always, slug: "anthropic/claude-opus-5.5", ...price("4/20/0.2/5", lately) },
      "claude-fable-5": { ...always, ...price("10/50/1/12.5") },
      "claude-opus-5": { ...newer, prices: opus },
      "claude-opus-4-8": { ...newer, slug: "anthropic/claude-opus-4.8", prices: opus },
      "claude-opus-4-7": { ...newer, slug: "anthropic/claude-opus-4.7", prices: opus },
      "claude-opus-4-6": { ...longer, slug: "anthropic/claude-opus-4.6", prices: opus },
      "claude-opus-4-5": { ...older, slug: "anthropic/claude-opus-4.5", prices: opus },
      // Introduced as a launch price and then made permanent.
      "claude-sonnet-5": { ...newer, ...price("2/10/0.2/2.5") },
      "claude-sonnet-4-6": { ...longer, slug: "anthropic/claude-sonnet-4.6", ...price("3/15/0.3/3.75") },
      "claude-sonnet-4-5": {
        ...older,
        slug: "anthropic/claude-sonnet-4.5",
        retires: { on: "2026-11-30", successor: "anthropic/claude-sonnet-5" },
        ...price("3/15/0.3/3.75", since, [200_000, "6/22.5/0.6/7.5"]),
      },
      "claude-haiku-4-5": { ...older, slug: "anthropic/claude-haiku-4.5", ...price("1/5/0.1/1.25") },
    },
  },
});
