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

const opus = [{ since, input: "5", output: "25", cacheRead: "0.5", cacheWrite: "6.25" }];
const sonnet = { input: "3", output: "15", cacheRead: "0.3", cacheWrite: "3.75" };
const sonnetLong = { promptTokens: 200_000, input: "6", output: "22.5", cacheRead: "0.6", cacheWrite: "7.5" };
// Introduced as a launch price and then made permanent.
const sonnet5 = { input: "2", output: "10", cacheRead: "0.2", cacheWrite: "2.5" };
const haiku = [{ since, input: "1", output: "5", cacheRead: "0.1", cacheWrite: "1.25" }];
/** With more than 100,000 prompt tokens, the whole call costs five times as much. */
const haiku55 = price("0.1/0.5/0.01/0.125", autumn, [100_000, "0.5/2.5/0.05/0.625"]);
const fable = [{ since, input: "10", output: "50", cacheRead: "1", cacheWrite: "12.5" }];

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
      "claude-fable-5": { ...always, prices: fable },
      "claude-opus-5": { ...newer, prices: opus },
      "claude-opus-4-8": { ...newer, slug: "anthropic/claude-opus-4.8", prices: opus },
      "claude-opus-4-7": { ...newer, slug: "anthropic/claude-opus-4.7", prices: opus },
      "claude-opus-4-6": {
        ...older,
        ...sees(1_000_000, 1_600),
        slug: "anthropic/claude-opus-4.6",
        outputTokensMax: 128_000,
        prices: opus,
      },
      "claude-opus-4-5": { ...older, slug: "anthropic/claude-opus-4.5", prices: opus },
      "claude-sonnet-5": { ...newer, prices: [{ since, ...sonnet5 }] },
      "claude-sonnet-4-6": {
        ...older,
        ...sees(1_000_000, 1_600),
        outputTokensMax: 128_000,
        slug: "anthropic/claude-sonnet-4.6",
        prices: [{ since, ...sonnet }],
      },
      "claude-sonnet-4-5": {
        ...older,
        slug: "anthropic/claude-sonnet-4.5",
        retires: { on: "2026-11-30", successor: "anthropic/claude-sonnet-5" },
        prices: [{ since, ...sonnet, steps: [sonnetLong] }],
      },
      "claude-haiku-4-5": { ...older, slug: "anthropic/claude-haiku-4.5", prices: haiku },
    },
  },
});
