// OpenRouter: everybody's models behind one key, at the prices listed on 2026-08-21. It passes its makers' prices on, so
// where its list rounds them to two places or leaves a bucket out, the maker's own figure stands here.
import { bearer, defineAdapter } from "#adapter";

const since = "2026-08-21";
const sized = (contextTokens: number, imageTokensMax?: number) =>
  imageTokensMax === undefined ? { contextTokens } : { contextTokens, parts: { imageTokensMax } };

/** It reasons without showing it. */
const unseen = <T>(model: T) => ({ ...model, hidesReasoning: true });
const o200k = <T>(model: T) => ({ ...model, tokenizer: "o200k" as const });

/** In USD per million tokens; a bucket that has no price of its own costs as input. */
const price = (input: string, output: string, cacheRead = input) => ({ prices: [{ since, input, output, cacheRead }] });

// Images count as they do at the makers; their own files say why. Documents cost extra here, so none is sent.
const claude = sized(1_000_000, 4_784);
const claudeSmall = sized(200_000, 1_600);
const gpt54 = unseen(o200k(sized(1_050_000, 12_000)));
const gpt55 = unseen(o200k(sized(1_000_000, 12_000)));
const gpt54Small = unseen(o200k(sized(400_000, 24_600)));
const gpt5 = unseen(o200k(sized(400_000, 1_445)));
const gpt5Small = unseen(o200k(sized(400_000, 3_779)));
const gpt41 = o200k(sized(1_000_000, 3_779));
const gemini3 = unseen(sized(1_000_000, 2_240));
const gemini2 = unseen(sized(1_000_000, 8_256));
const mistral = sized(256_000, 4_200);

const opus = [{ since, input: "5", output: "25", cacheRead: "0.5", cacheWrite: "6.25" }];
const sonnet = { input: "3", output: "15", cacheRead: "0.3", cacheWrite: "3.75" };
const sonnet5 = { since, input: "2", output: "10", cacheRead: "0.2", cacheWrite: "2.5" };
const haiku = [{ since, input: "1", output: "5", cacheRead: "0.1", cacheWrite: "1.25" }];
const fable = [{ since, input: "10", output: "50", cacheRead: "1", cacheWrite: "12.5" }];

// Above so many tokens of prompt the whole call costs more.
const sol = { since: "2026-09-23", input: "2", output: "10", cacheRead: "0.2", cacheWrite: "2.5" };
const solLong = { promptTokens: 272_000, input: "4", output: "15", cacheRead: "0.4", cacheWrite: "5" };
const full55 = { since, input: "5", output: "30", cacheRead: "0.5" };
const full55Long = { promptTokens: 272_000, input: "10", output: "45", cacheRead: "1" };
const full54 = { since, input: "2.5", output: "15", cacheRead: "0.25" };
const full54Long = { promptTokens: 272_000, input: "5", output: "22.5", cacheRead: "0.5" };
const pro3 = { since, input: "2", output: "12", cacheRead: "0.2" };
const pro3Long = { promptTokens: 200_000, input: "4", output: "18", cacheRead: "0.4" };
const pro2 = { since, input: "1.25", output: "10", cacheRead: "0.125" };
const pro2Long = { promptTokens: 200_000, input: "2.5", output: "15", cacheRead: "0.25" };
const qwenMax = [{ since, input: "1.25", output: "3.75", cacheRead: "0.25", cacheWrite: "1.5625" }];
const qwenPlus = [{ since, input: "0.4", output: "1.6", cacheRead: "0.08", cacheWrite: "0.5" }];

// What its makers end is ended here on the same day.
const ends = (on: string, successor: string) => ({ retires: { on, successor } });
const december = "2026-12-11";
const january = "2027-01-14";
const geminiEnd = "2026-12-01";

const rounded = { priceNote: "passes the maker's price on, which the list rounds to two places" };
/** What it takes for writing is the maker's hourly storage, which none of ours asks for. */
const stored = {
  priceNote:
    "passes the maker's price on; the list's price of writing is the storage of a cache that is made by itself",
};
const unstepped = { priceNote: "passes the maker's price on, of which the list lacks the step" };
const outdated = { priceNote: "passes the maker's price on, of which the list has an old cached one" };

export default defineAdapter({
  name: "OpenRouter",
  docs: "https://openrouter.ai/docs/api-reference/chat-completion",
  origin: "https://openrouter.ai/api/v1",
  auth: bearer,
  nativeActions: { chat: "chat-completions" },
  chat: {
    dialect: "chat-completions",
    maxTokensField: "max_completion_tokens",
    streamUsage: "always",
    costUsdAt: "/cost",
    // Some of its providers stop billing when it hangs up on them, some do not.
    models: {
      "anthropic/claude-fable-5": { ...claude, prices: fable },
      "anthropic/claude-opus-5": { ...claude, prices: opus },
      "anthropic/claude-opus-4.8": { ...claude, prices: opus },
      "anthropic/claude-opus-4.7": { ...claude, prices: opus },
      "anthropic/claude-opus-4.6": { ...claude, prices: opus },
      "anthropic/claude-opus-4.5": { ...claudeSmall, prices: opus },
      "anthropic/claude-sonnet-5": { ...claude, prices: [sonnet5] },
      "anthropic/claude-sonnet-4.6": { ...claude, prices: [{ since, ...sonnet }] },
      "anthropic/claude-haiku-4.5": { ...claudeSmall, prices: haiku },
      "openai/gpt-5.6-sol": { ...gpt54, prices: [{ ...sol, steps: [solLong] }] },
      "openai/gpt-5.5": { ...gpt55, prices: [{ ...full55, steps: [full55Long] }] },
      "openai/gpt-5.4": { ...gpt54, prices: [{ ...full54, steps: [full54Long] }] },
      "openai/gpt-5.4-mini": { ...gpt54Small, ...price("0.75", "4.5", "0.075") },
      "openai/gpt-5.4-nano": { ...gpt54Small, ...price("0.2", "1.25", "0.02") },
      "openai/gpt-5.2": { ...gpt5, ...price("1.75", "14", "0.175") },
      "openai/gpt-5.1": { ...rounded, ...gpt5, ...price("1.25", "10", "0.125") },
      "openai/gpt-5": { ...gpt5, ...ends(december, "openai/gpt-5.4"), ...price("1.25", "10", "0.125") },
      "openai/gpt-5-mini": { ...gpt5Small, ...ends(december, "openai/gpt-5.4-mini"), ...price("0.25", "2", "0.025") },
      "openai/gpt-5-nano": {
        ...rounded,
        ...gpt5Small,
        ...ends(december, "openai/gpt-6-luna"),
        ...price("0.05", "0.4", "0.005"),
      },
      "openai/gpt-4.1": { ...gpt41, ...ends(january, "openai/gpt-5.4"), ...price("2", "8", "0.5") },
      "openai/gpt-4.1-mini": { ...gpt41, ...ends(january, "openai/gpt-5.4-mini"), ...price("0.4", "1.6", "0.1") },
      "openai/gpt-oss-120b": { ...o200k(sized(131_072)), ...price("0.039", "0.18") },
      "openai/gpt-oss-20b": { ...o200k(sized(131_072)), ...price("0.029", "0.14") },
      "google/gemini-3.5-flash": { ...stored, ...gemini3, ...price("1.5", "9", "0.15") },
      "google/gemini-3.1-pro-preview": { ...unstepped, ...gemini3, prices: [{ ...pro3, steps: [pro3Long] }] },
      "google/gemini-3.1-flash-lite": {
        ...stored,
        ...gemini3,
        ...ends("2027-05-07", "google/gemini-3.5-flash-lite"),
        ...price("0.25", "1.5", "0.025"),
      },
      "google/gemini-3-flash-preview": { ...stored, ...gemini3, ...price("0.5", "3", "0.05") },
      "google/gemini-2.5-pro": {
        ...outdated,
        ...gemini2,
        ...ends(geminiEnd, "google/gemini-3.1-pro-preview"),
        prices: [{ ...pro2, steps: [pro2Long] }],
      },
      "google/gemini-2.5-flash": {
        ...outdated,
        ...gemini2,
        ...ends(geminiEnd, "google/gemini-3.6-flash"),
        ...price("0.3", "2.5", "0.03"),
      },
      "google/gemini-2.5-flash-lite": {
        ...stored,
        ...gemini2,
        ...ends(geminiEnd, "google/gemini-3.5-flash-lite"),
        ...price("0.1", "0.4", "0.01"),
      },
      "mistralai/mistral-large-2512": { ...mistral, ...price("0.5", "1.5", "0.05") },
      "mistralai/mistral-small-2603": { ...mistral, ...price("0.15", "0.6", "0.015") },
      "mistralai/codestral-2508": { ...sized(256_000), ...price("0.3", "0.9", "0.03") },
      "x-ai/grok-4.3": { ...sized(1_000_000, 2_048), ...price("1.25", "2.5", "0.2") },
      "deepseek/deepseek-v4-pro": { ...sized(1_000_000), ...price("0.435", "0.87", "0.003625") },
      "deepseek/deepseek-v4-flash": { ...sized(1_000_000), ...price("0.0983", "0.1966", "0.0197") },
      "deepseek/deepseek-v3.2": { ...sized(163_840), ...price("0.2288", "0.3432") },
      "moonshotai/kimi-k3": { ...sized(1_048_576), ...price("3", "15", "0.3") },
      "moonshotai/kimi-k2.6": { ...sized(262_144), ...price("0.68", "3.41", "0.34") },
      "z-ai/glm-5.2": { ...sized(1_048_576), ...price("1.4", "4.4", "0.26") },
      "z-ai/glm-5.1": { ...sized(202_752), ...price("0.98", "3.08", "0.182") },
      "minimax/minimax-m3": { ...sized(524_288), ...price("0.3", "1.2", "0.06") },
      "minimax/minimax-m2.7": { ...sized(204_800), ...price("0.27", "1.08", "0.054") },
      "qwen/qwen3.7-max": { ...sized(262_144), prices: qwenMax },
      "qwen/qwen3.7-plus": { ...sized(262_144), prices: qwenPlus },
      "meta-llama/llama-3.3-70b-instruct": { ...sized(131_072), ...price("0.05", "0.24") },
      "meta-llama/llama-4-maverick": { ...sized(1_048_576), ...price("0.15", "0.6") },
      "cohere/command-a": { ...sized(256_000), ...price("2.5", "10") },
    },
  },
  embeddings: {
    models: {
      "openai/text-embedding-3-small": { contextTokens: 8_192, prices: [{ since, input: "0.02", output: "0" }] },
      "openai/text-embedding-3-large": { contextTokens: 8_192, prices: [{ since, input: "0.13", output: "0" }] },
    },
  },
});
