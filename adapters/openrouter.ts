// OpenRouter: many vendors' models with one key, at the prices listed on 2026-11-23. It passes the makers' prices on; where its list rounds
// them to two decimals or leaves a bucket out, we use the maker's own price.
import { bearer, defineAdapter, modelRows, usd } from "#adapter";

const since = "2026-08-21";
const { price, sold } = modelRows(since);
const autumn = "2026-11-03";
const sized = (contextTokens: number, outputTokensMax: number, imageTokensMax?: number) => {
  const sizes = { contextTokens, outputTokensMax };
  return imageTokensMax === undefined ? sizes : { ...sizes, parts: { imageTokensMax } };
};

/** It hides its reasoning. */
const unseen = <T>(model: T) => ({ ...model, hidesReasoning: true });
const o200k = <T>(model: T) => ({ ...model, tokenizer: "o200k" as const });

// Images count as at their makers, whose files explain it. Documents cost extra here, so none are sent.
const claude = sized(1_000_000, 128_000, 4_784);
const claudeSmall = sized(200_000, 64_000, 1_600);
const gpt54 = unseen(o200k(sized(1_050_000, 128_000, 12_000)));
const gpt54Small = unseen(o200k(sized(400_000, 128_000, 24_600)));
const gpt5 = unseen(o200k(sized(400_000, 128_000, 1_445)));
const gpt5Small = unseen(o200k(sized(400_000, 128_000, 3_779)));
const gpt41 = o200k(sized(1_000_000, 32_768, 3_779));
const mistral = sized(262_144, 209_715, 4_200);

const opus = [{ since, input: "5", output: "25", cacheRead: "0.5", cacheWrite: "6.25" }];
const haiku = [{ since, input: "1", output: "5", cacheRead: "0.1", cacheWrite: "1.25" }];
const fable = [{ since, input: "10", output: "50", cacheRead: "1", cacheWrite: "12.5" }];

// With more prompt tokens than this, the whole call costs more.
const sol = price("4/20/0.4/5", "2026-10-19", [272_000, "8/30/0.8/10"]);
const sol6 = price("2/10/0.2/2.5", autumn, [272_000, "4/15/0.4/5"]);
const sol61 = price("2/10/0.1/2.5", autumn, [272_000, "4/15/0.2/5"]);
const terra61 = price("1/5/0.05/1.25", autumn, [272_000, "2/7.5/0.1/2.5"]);
const luna6 = price("0.1/0.5/0.01/0.125", autumn, [272_000, "0.2/0.75/0.02/0.25"]);
const haiku55 = price("0.1/0.5/0.01/0.125", autumn, [100_000, "0.5/2.5/0.05/0.625"]);
/** Half price until the end of November, and until the end of the year. */
const argon = [
  { since: "2026-10-13", ...usd("2/10/0.1") },
  { since: "2026-12-01", ...usd("4/20/0.2") },
];
const flash = [
  { since: autumn, ...usd("0.75/3.75/0.075") },
  { since: "2027-01-01", ...usd("1.5/7.5/0.15") },
];
const full55 = price("5/30/0.5", since, [272_000, "10/45/1"]);
const full54 = price("2.5/15/0.25", since, [272_000, "5/22.5/0.5"]);
const pro3 = price("2/12/0.2", since, [200_000, "4/18/0.4"]);
const pro2 = price("1.25/10/0.125", since, [200_000, "2.5/15/0.25"]);
const qwenMax = price("1.475/4.425/0.295/1.84375", "2026-10-19");
const qwenPlusLong = { promptTokens: 256_000, input: "0.96", output: "3.84", cacheRead: "0.192", cacheWrite: "1.2" };
const qwenPlus = [
  { since: "2026-10-19", input: "0.32", output: "1.28", cacheRead: "0.064", cacheWrite: "0.4", steps: [qwenPlusLong] },
];

// A model that its maker ends is ended here on the same day.
const ends = (on: string, successor: string) => ({ retires: { on, successor } });
const december = "2026-12-11";
const january = "2027-01-14";
const inDecember = (successor: string) => ends("2026-12-01", `google/${successor}`);
const inMay = ends("2027-05-07", "google/gemini-3.5-flash-lite");

/** Its cache write price is the maker's hourly storage fee, which we never use. */
const stored = {
  priceNote:
    "passes the maker's price on; the list's price of writing is the storage of a cache that is made by itself",
};
const gemini3 = { ...stored, ...unseen(sized(1_000_000, 65_536, 2_240)) };
const gemini2 = { ...stored, ...unseen(sized(1_000_000, 65_535, 8_256)) };

export default defineAdapter({
  name: "OpenRouter",
  docs: "https://openrouter.ai/docs/api-reference/chat-completion",
  beliefs: { "*": "how long the answers of some of its models may be" },
  origin: "https://openrouter.ai/api/v1",
  auth: bearer,
  nativeActions: { chat: "chat-completions" },
  chat: {
    dialect: "chat-completions",
    // Some vendors behind it reject other characters.
    takes: { toolIds: "word" },
    maxTokensField: "max_completion_tokens",
    streamUsage: "always",
    costUsdAt: "/cost",
    // Some of its providers stop billing when the client disconnects, others do not.
    models: {
      "anthropic/claude-opus-5.5": { ...claude, ...price("4/20/0.2/5", autumn) },
      "anthropic/claude-sonnet-5.5": { ...claude, ...price("2/10/0.1/2.5", autumn) },
      "anthropic/claude-haiku-5.5": { ...claude, ...haiku55 },
      "anthropic/claude-fable-5.1": { ...claude, ...price("10/50/0.25/12.5", autumn) },
      "anthropic/claude-fable-5": { ...claude, prices: fable },
      "anthropic/claude-opus-5": { ...claude, prices: opus },
      "anthropic/claude-opus-4.8": { ...claude, prices: opus },
      "anthropic/claude-opus-4.7": { ...claude, prices: opus },
      "anthropic/claude-opus-4.6": { ...claude, prices: opus },
      "anthropic/claude-opus-4.5": { ...claudeSmall, prices: opus },
      "anthropic/claude-sonnet-5": { ...claude, ...price("2/10/0.2/2.5") },
      "anthropic/claude-sonnet-4.6": { ...claude, ...price("3/15/0.3/3.75") },
      "anthropic/claude-haiku-4.5": { ...claudeSmall, prices: haiku },
      "openai/gpt-6.1-sol": { ...gpt54, ...sol61 },
      "openai/gpt-6.1-terra": { ...gpt54, ...terra61 },
      "openai/gpt-6-sol": { ...gpt54, ...sol6 },
      "openai/gpt-6-luna": { ...gpt54, ...luna6 },
      "openai/gpt-5.6-sol": { ...gpt54, ...sol },
      "openai/gpt-5.5": { ...gpt54, ...full55 },
      "openai/gpt-5.4": { ...gpt54, ...full54 },
      "openai/gpt-5.4-mini": { ...gpt54Small, ...price("0.75/4.5/0.075") },
      "openai/gpt-5.4-nano": { ...gpt54Small, ...ends("2027-04-01", "openai/gpt-6-luna"), ...price("0.2/1.25/0.02") },
      "openai/gpt-5.2": { ...gpt5, ...price("1.75/14/0.175") },
      "openai/gpt-5.1": { ...gpt5, ...ends("2027-04-01", "openai/gpt-6.1-sol"), ...price("1.25/10/0.125") },
      "openai/gpt-5": { ...gpt5, ...ends(december, "openai/gpt-5.4"), ...price("1.25/10/0.125") },
      "openai/gpt-5-mini": { ...gpt5Small, ...ends(december, "openai/gpt-5.4-mini"), ...price("0.25/2/0.025") },
      "openai/gpt-5-nano": { ...gpt5Small, ...ends(december, "openai/gpt-6-luna"), ...price("0.05/0.4/0.005") },
      "openai/gpt-4.1": { ...gpt41, ...ends(january, "openai/gpt-5.4"), ...price("2/8/0.5") },
      "openai/gpt-4.1-mini": { ...gpt41, ...ends(january, "openai/gpt-5.4-mini"), ...price("0.4/1.6/0.1") },
      "openai/gpt-oss-120b": { ...o200k(sized(131_072, 65_536)), ...price("0.1/0.5/0.1", autumn) },
      "openai/gpt-oss-20b": { ...o200k(sized(131_072, 32_768)), ...price("0.03/0.14/0.009", autumn) },
      "google/gemini-4-argon": { ...gemini3, prices: argon },
      "google/gemini-3.8-flash": { ...gemini3, prices: flash },
      "google/gemini-3.6-flash": { ...gemini3, prices: flash },
      "google/gemini-3.5-flash-lite": { ...gemini3, ...price("0.3/2.5/0.03", autumn) },
      "google/gemini-3.5-flash": { ...gemini3, ...price("1.5/9/0.15") },
      "google/gemini-3.1-pro-preview": { ...gemini3, ...pro3 },
      "google/gemini-3.1-flash-lite": { ...gemini3, ...inMay, ...price("0.25/1.5/0.025") },
      "google/gemini-3-flash-preview": { ...gemini3, ...price("0.5/3/0.05") },
      "google/gemini-2.5-pro": { ...gemini2, ...inDecember("gemini-3.1-pro-preview"), ...pro2 },
      "google/gemini-2.5-flash": { ...gemini2, ...inDecember("gemini-3.6-flash"), ...price("0.3/2.5/0.03") },
      "google/gemini-2.5-flash-lite": { ...gemini2, ...inDecember("gemini-3.5-flash-lite"), ...price("0.1/0.4/0.01") },
      "mistralai/mistral-large-4-0": {
        ...sold("mistralai/mistral-large-4", [1_048_576, 262_144], "0.7/2.1/0.07", autumn),
        parts: { imageTokensMax: 4_200 },
      },
      "mistralai/mistral-large-2512": { ...mistral, ...price("0.5/1.5/0.05") },
      "mistralai/mistral-small-2603": { ...mistral, ...price("0.15/0.6/0.015") },
      "mistralai/codestral-2508": { ...sized(256_000, 204_800), ...price("0.3/0.9/0.03") },
      "x-ai/grok-4.7": { ...sized(500_000, 450_000, 2_048), ...price("2/6/0.5", autumn, [200_000, "4/12/1"]) },
      "x-ai/grok-4.3": {
        ...sized(1_000_000, 900_000, 2_048),
        ...price("1.25/2.5/0.2", autumn, [200_000, "2.5/5/0.4"]),
      },
      // The maker sells this model under that name; the older one costs twice as much here.
      "deepseek/deepseek-v4-pro-0813": sold("deepseek/deepseek-v4-pro", [1_048_576, 384_000], "0.66/1.98/0.022"),
      "deepseek/deepseek-v4.1-flash": { ...sized(1_048_576, 384_000), ...price("0.21/0.84/0.0042", autumn) },
      "deepseek/deepseek-v4-flash": { ...sized(1_000_000, 384_000), ...price("0.105/0.21/0.021", "2026-11-09") },
      "deepseek/deepseek-v3.2": { ...sized(163_840, 65_536), ...price("0.26/0.38/0.13", "2026-11-09") },
      "moonshotai/kimi-k3.1-pro": { ...sized(1_048_576, 131_072), ...price("2/10/0.2", autumn) },
      "moonshotai/kimi-k3": { ...sized(1_048_576, 131_072), ...price("3/15/0.3") },
      "moonshotai/kimi-k2.6": { ...sized(262_144, 235_929), ...price("0.95/4/0.16", autumn) },
      "z-ai/glm-5.3": { ...sized(1_048_576, 131_072), ...price("1.4/4.4/0.26", autumn) },
      "z-ai/glm-5.3-flash": { ...sized(1_048_576, 131_072), ...price("0.15/0.5/0.03", autumn) },
      "z-ai/glm-5.3-flashx": { ...sized(1_048_576, 131_072), ...price("0.37/1.25/0.075", autumn) },
      "z-ai/glm-5.2": { ...sized(1_048_576, 131_072), ...price("1.4/4.4/0.26") },
      "z-ai/glm-5.1": { ...sized(202_752, 128_000), ...price("1.4/4.4/0.26", autumn) },
      "minimax/minimax-m3": { ...sized(524_288, 512_000), ...price("0.3/1.2/0.06") },
      "minimax/minimax-m2.7": { ...sized(204_800, 131_072), ...price("0.27/1.08/0.054") },
      "qwen/qwen3.8-flash": { ...sized(1_000_000, 131_072), ...price("0.15/0.47/0.016", autumn) },
      "qwen/qwen3.7-max": { ...sized(1_000_000, 131_072), ...qwenMax },
      "qwen/qwen3.7-plus": { ...sized(1_000_000, 131_072), prices: qwenPlus },
      "meta/muse-wonder": { ...sized(1_048_576, 131_072), ...price("4/20/0.2", autumn) },
      "meta/muse-spark-1.3": { ...sized(1_048_576, 131_072), ...price("1.25/4.25/0.15", autumn) },
      "meta-llama/llama-3.3-70b-instruct": { ...sized(131_072, 16_384), ...price("0.59/0.79/0.295", "2026-11-09") },
      "meta-llama/llama-4-maverick": { ...sized(524_288, 32_768), ...price("0.35/1/0.17", autumn) },
      "cohere/command-a": { ...sized(256_000, 8_192), ...price("2.5/10") },
    },
  },
  embeddings: {
    models: {
      "openai/text-embedding-3-small": { contextTokens: 8_192, ...price("0.02/0") },
      "openai/text-embedding-3-large": { contextTokens: 8_192, ...price("0.13/0") },
    },
  },
});
