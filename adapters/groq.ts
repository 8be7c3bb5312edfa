// Groq: open models, fast, at the prices listed on 2026-11-23.
import { bearer, defineAdapter, modelRows } from "#adapter";

const since = "2026-08-21";
const { price, sold } = modelRows(since);
const context = { contextTokens: 131_072 };
// Llama 4 counts an image for at most 17 tiles of 145 tokens; older vision models here were billed a flat 6,400.
const sees = { parts: { imageTokensMax: 6_400 } };
const gptOss = {
  ...context,
  outputTokensMax: 65_536,
  tokenizer: "o200k" as const,
  takes: {
    messageFields: ["name", "reasoning"],
    developerRole: "system" as const,
    efforts: ["low", "medium", "high"],
    refuses: ["n" as const],
  },
};

/** Ended on or before that day. */
const gone = { retires: { on: "2026-08-16", successor: "openai/gpt-oss-120b" } };
const hears = {
  kind: "transcription",
  dialect: "openai-audio",
  formats: ["json", "text", "srt", "verbose_json", "vtt"],
  secondsMin: 10,
} as const;

export default defineAdapter({
  name: "Groq",
  docs: "https://console.groq.com/docs/openai",
  origin: "https://api.groq.com/openai/v1",
  auth: bearer,
  batches: {
    format: "files",
    paths: ["/chat/completions"],
    prices: [{ since, percent: 50 }],
    linesMax: 50_000,
    bytesMax: 200_000_000,
    deletes: true,
    oneModel: true,
  },
  chat: {
    dialect: "chat-completions",
    maxTokensField: "max_completion_tokens",
    // It rejects unknown fields. These are hints that do not affect an answer, and sampling params that it lacks.
    dropFields:
      "metadata store prompt_cache_key safety_identifier verbosity cache_control thinking output_config safetySettings top_k top_a min_p repetition_penalty".split(
        " ",
      ),
    takes: { messageFields: ["name", "reasoning"], developerRole: "system", efforts: [], refuses: ["n"] },
    usageAt: ["/usage", "/x_groq/usage"],
    models: {
      "llama-3.3-70b-versatile": {
        ...gone,
        ...sold("meta-llama/llama-3.3-70b-instruct", [131_072, 32_768], "0.59/0.79"),
      },
      "llama-3.1-8b-instant": { ...gone, ...sold("meta-llama/llama-3.1-8b-instruct", [131_072], "0.05/0.08") },
      "meta-llama/llama-4-maverick-17b-128e-instruct": {
        ...sees,
        ...gone,
        ...sold("meta-llama/llama-4-maverick", [131_072, 8_192], "0.2/0.6"),
      },
      "meta-llama/llama-4-scout-17b-16e-instruct": {
        ...sees,
        ...gone,
        ...sold("meta-llama/llama-4-scout", [131_072, 8_192], "0.11/0.34"),
      },
      "openai/gpt-oss-120b": { ...gptOss, ...price("0.15/0.6/0.075") },
      "openai/gpt-oss-20b": { ...gptOss, ...price("0.075/0.3/0.0375") },
      "qwen/qwen3.8-27b": {
        ...context,
        outputTokensMax: 16_384,
        takes: { ...gptOss.takes, efforts: ["none", "low", "medium", "high"] },
        ...price("0.8/4", "2026-11-03"),
      },
      "qwen/qwen3-32b": { ...context, ...gone, outputTokensMax: 40_960, ...price("0.29/0.59") },
    },
  },
  // Audio shorter than ten seconds is charged as ten.
  unitModels: {
    "whisper-large-v3": {
      ...hears,
      slug: "openai/whisper-large-v3",
      translates: true,
      prices: [{ since, hours: "0.111" }],
    },
    "whisper-large-v3-turbo": { ...hears, slug: "openai/whisper-large-v3-turbo", prices: [{ since, hours: "0.04" }] },
  },
});
