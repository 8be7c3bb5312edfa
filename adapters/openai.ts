// OpenAI, first-hand, at the prices listed on 2026-11-23. The -pro and -codex models are not here.
import { bearer, defineAdapter, ended, modelRows } from "#adapter";

const since = "2026-08-21";
const { price } = modelRows(since);
const lately = "2026-09-23";
const autumn = "2026-11-03";

// The maximum token count of one image. Models that cut it into tiles see at most 8 of them (2048 x 768 pixels) at up to 170 tokens each,
// plus 85 for the whole image; gpt-4o-mini counts 33 times that. Models that cut it into patches see at most 1536, times 1.62 (mini), 2.46
// (nano) or 1.72 (o4-mini). From gpt-5.4 on, a caller can request the original size, 10,000 patches; we assume that the factors of the
// small models stay the same. A document can at most fill the context.
const sized = (contextTokens: number, outputTokensMax: number, imageTokensMax: number) => ({
  contextTokens,
  outputTokensMax,
  tokenizer: "o200k" as const,
  parts: { imageTokensMax, fileTokensMax: contextTokens },
});

// It accepts metadata only with stored answers, and ours are never stored. Fields that other vendors added to the wire are rejected as
// unknown parameters.
const foreign = "thinking output_config safetySettings cache_control include_reasoning reasoning_format".split(" ");
const dropFields = ["metadata", ...foreign, "top_k", "top_a", "min_p", "repetition_penalty"];

/** In messages, any vendor's reasoning fields are unknown parameters too. */
const messageFields = ["name", "refusal"];
const thinks = (...efforts: readonly ("none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max")[]) => ({
  takes: { messageFields, efforts },
});
// They accept sampling params only while not reasoning, and they reason only on request.
const thinksOrNot = { ...thinks("none", "low", "medium", "high", "xhigh"), sampling: "unless-thinking" as const };

// These reason before they answer, and reject sampling params and stop sequences. Unsure: whether gpt-5.4 and gpt-5.5 reject `stop` too.
const unsampled = {
  dropFields: [...dropFields, "temperature", "top_p", "presence_penalty", "frequency_penalty", "stop"],
};

// From gpt-5.4 on, tools together with reasoning work only at /responses, and gpt-5.5 and later reason unless told not to.
const toolsElsewhere = { toolsDialect: "responses" as const, ...thinksOrNot };
const gpt54 = { ...sized(1_050_000, 128_000, 12_000), ...toolsElsewhere };
const gpt54Mini = { ...sized(272_000, 128_000, 16_200), ...toolsElsewhere };
const gpt54Nano = { ...sized(272_000, 128_000, 24_600), ...toolsElsewhere };
const gpt55 = gpt54;
// The total context is 1,050,000 tokens; those of the answer are subtracted first.
const gpt56 = {
  ...gpt54,
  ...sized(922_000, 128_000, 12_000),
  ...unsampled,
  ...thinks("none", "low", "medium", "high", "xhigh", "max"),
};
/** Models that always think. */
const gpt6Thinking = { ...gpt56, ...thinks("low", "medium", "high", "xhigh", "max") };
const gpt52 = { ...sized(272_000, 128_000, 1_445), ...thinksOrNot };
const gpt51 = { ...gpt52, ...thinks("none", "low", "medium", "high") };
const minimal = { ...unsampled, ...thinks("minimal", "low", "medium", "high") };
const gpt5 = { ...gpt51, ...minimal };
const gpt5Mini = { ...sized(272_000, 128_000, 2_489), ...minimal };
const gpt5Nano = { ...sized(272_000, 128_000, 3_779), ...minimal };
// Models without reasoning.
const plain = { hidesReasoning: false, ...thinks() };
const gpt41 = { ...sized(1_000_000, 32_768, 1_445), ...plain };
const gpt41Mini = { ...sized(1_000_000, 32_768, 2_489), ...plain };
const gpt4o = { ...sized(128_000, 16_384, 1_445), ...plain };
const gpt4oMini = { ...sized(128_000, 16_384, 48_169), ...plain };
const o3 = { ...sized(200_000, 100_000, 1_445), ...unsampled, ...thinks("low", "medium", "high") };

// With more than 272,000 prompt tokens, the whole call costs more.
const sol = price("4/20/0.4/5", lately, [272_000, "8/30/0.8/10"]);
const terra = price("2/12/0.2/2.5", lately, [272_000, "4/18/0.4/5"]);
const luna = price("0.2/1.2/0.02/0.25", lately, [272_000, "0.4/1.8/0.04/0.5"]);
const astra6 = price("10/50/1/12.5", lately, [272_000, "20/75/2/25"]);
const sol6 = price("2/10/0.2/2.5", lately, [272_000, "4/15/0.4/5"]);
const sol61 = price("2/10/0.1/2.5", autumn, [272_000, "4/15/0.2/5"]);
const terra61 = price("1/5/0.05/1.25", autumn, [272_000, "2/7.5/0.1/2.5"]);
const luna6 = price("0.1/0.5/0.01/0.125", lately, [272_000, "0.2/0.75/0.02/0.25"]);
const gpt55Price = price("5/30/0.5", since, [272_000, "10/45/1"]);
const gpt54Price = price("2.5/15/0.25", since, [272_000, "5/22.5/0.5"]);

// Announced by OpenAI on 2026-06-11 for the snapshots behind these names; gpt-4o and gpt-4.1 follow.
// Image and audio models have ended, or will. It has not named a successor for its speech models.
const ends = (on: string, successor?: string) => ended(on, successor && `openai/${successor}`);
const inDecember = (successor: string) => ends("2026-12-11", successor);
const inJanuary = (successor: string) => ends("2027-01-14", successor);
const inApril = (successor: string) => ends("2027-04-01", successor);
const painted = "gpt-image-2.5-flare";
// The token count of an output image by quality; gpt-image-2 also supports other sizes, which have no price here.
const imageTokens = {
  "1024x1024": { low: 272, medium: 1_056, high: 4_160 },
  "1024x1536": { low: 408, medium: 1_584, high: 6_240 },
  "1536x1024": { low: 400, medium: 1_568, high: 6_208 },
};
// Computed from the vendor's price per image, plus 10 %, because it does not list the tokens.
const imageTokens2 = {
  "1024x1024": { low: 220, medium: 1_950, high: 7_740 },
  "1024x1536": { low: 220, medium: 1_950, high: 7_740 },
  "1536x1024": { low: 220, medium: 1_950, high: 7_740 },
};
const images = { kind: "images", dialect: "openai-images" } as const;
/** An input image is cut into tiles; with `input_fidelity: high`, and always with gpt-image-2, it counts for up to 6,240 more tokens. */
const gptImage = {
  ...images,
  imageTokens,
  imageInTokensMax: 7_000,
  // One answer has no room for more images of the largest size.
  imagesMax: 4,
  streams: true,
  refuses: ["style"],
};
const endingImage = { ...gptImage, ...ends("2026-12-01", painted) };
const gptImagePrices = [{ since, textIn: "5", cachedIn: "1.25", imageIn: "8", textOut: "30", imageOut: "30" }];
/** Ended before that day. */
const dallE = {
  ...images,
  ...ends("2026-11-22", painted),
  formats: ["url", "b64_json"],
  refuses: ["background", "output_format", "partial_images"],
};
const listed = (sizes: Readonly<Record<string, string>>) => [{ since, images: sizes }];

const hears = { kind: "transcription", dialect: "openai-audio" } as const;
const untilFebruary = ends("2027-02-26", "gpt-transcribe");
const whisper = {
  ...hears,
  ...untilFebruary,
  formats: ["json", "text", "srt", "verbose_json", "vtt"],
  refuses: ["include", "chunking_strategy"],
  translates: true,
};
// A second of audio is ten tokens, plus a margin; audio longer than 1,500 seconds is rejected.
const gptHears = {
  ...hears,
  ...untilFebruary,
  formats: ["json", "text"],
  refuses: ["timestamp_granularities"],
  streams: true,
  audioTokensPerSecond: 12,
  secondsMax: 1_500,
};
/** Priced per hour. Unsure: whether it has more response formats, streams, and reports the seconds. */
const gptTranscribes = {
  ...hears,
  formats: ["json", "text"],
  refuses: ["timestamp_granularities", "include", "chunking_strategy"],
  secondsMax: 1_500,
};
const speaks = { kind: "speech", dialect: "openai-voice", charactersMax: 4_096, ...ends("2027-01-06") } as const;

// Sound counts as 10 tokens a second in, 20 out. OpenAI does not list the tokens of an image; the bound is that of its vision models.
// Transcription models in a session are those of `transcription` here, at their own prices.
const realtime = {
  kind: "realtime",
  dialect: "openai-realtime",
  inputTokensMax: 28_224,
  outputTokensMax: 4_096,
  audioTokensPerSecond: 10,
  imageInTokensMax: 2_500,
} as const;
const realtime2 = { ...realtime, inputTokensMax: 128_000, outputTokensMax: 32_000 };
// As in genai-prices on 2026-11-23.
const realtimeSound = { audioIn: "32", cachedAudioIn: "0.4", audioOut: "64" };
const realtimePrice = { textIn: "4", cachedIn: "0.4", imageIn: "5", cachedImageIn: "0.5", ...realtimeSound };
const miniText = { textIn: "0.6", cachedIn: "0.06", imageIn: "0.8", cachedImageIn: "0.08" };
const realtimeMiniPrice = { ...miniText, audioIn: "10", cachedAudioIn: "0.3", textOut: "2.4", audioOut: "20" };
const ending = (successor: string) => ends("2027-01-20", `gpt-realtime-${successor}`);

const free = { since };

export default defineAdapter({
  name: "OpenAI",
  docs: "https://platform.openai.com/docs/api-reference/chat",
  beliefs: { "*": "whether gpt-5.4 and gpt-5.5 refuse `stop`, and the forms in which sound by the hour is answered" },
  origin: "https://api.openai.com/v1",
  auth: bearer,
  maker: "openai",
  nativeActions: { chat: "chat-completions", embeddings: "embeddings", image: "images" },
  batches: {
    format: "files",
    paths: ["/chat/completions", "/responses", "/embeddings", "/moderations"],
    prices: [{ since, percent: 50 }],
    linesMax: 50_000,
    bytesMax: 200_000_000,
    deletes: true,
    oneModel: true,
  },
  chat: {
    dialect: "chat-completions",
    toolCalls: "strict",
    toolSchemas: "plain",
    hidesReasoning: true,
    maxTokensField: "max_completion_tokens",
    dropFields,
    // Padding against traffic analysis of chunk sizes; the gateway does not pass it on to its own clients.
    streamOptions: { include_obfuscation: false },
    models: {
      // We assume the image sizes of gpt-5.6.
      "gpt-6.1-sol": { ...gpt6Thinking, ...sol61 },
      "gpt-6.1-terra": { ...gpt56, ...terra61 },
      "gpt-6-astra": { ...gpt6Thinking, ...astra6 },
      "gpt-6-sol": { ...gpt56, ...sol6 },
      "gpt-6-luna": { ...gpt56, ...luna6 },
      "gpt-5.6-sol": { ...gpt56, ...sol },
      "gpt-5.6-terra": { ...gpt56, ...terra },
      "gpt-5.6-luna": { ...gpt56, ...luna },
      // It reasons unless told not to.
      "gpt-5.5": { ...gpt55, sampling: "without-thinking", ...gpt55Price },
      "gpt-5.4": { ...gpt54, ...gpt54Price },
      "gpt-5.4-mini": { ...gpt54Mini, ...price("0.75/4.5/0.075") },
      "gpt-5.4-nano": { ...gpt54Nano, ...inApril("gpt-6-luna"), ...price("0.2/1.25/0.02") },
      "gpt-5.2": { ...gpt52, ...price("1.75/14/0.175") },
      "gpt-5.1": { ...gpt51, ...inApril("gpt-6.1-sol"), ...price("1.25/10/0.125") },
      "gpt-5": { ...gpt5, ...inDecember("gpt-5.4"), ...price("1.25/10/0.125") },
      "gpt-5-mini": { ...gpt5Mini, ...inDecember("gpt-5.4-mini"), ...price("0.25/2/0.025") },
      "gpt-5-nano": { ...gpt5Nano, ...inDecember("gpt-6-luna"), ...price("0.05/0.4/0.005") },
      "gpt-4.1": { ...gpt41, ...inJanuary("gpt-5.4"), ...price("2/8/0.5") },
      "gpt-4.1-mini": { ...gpt41Mini, ...inJanuary("gpt-5.4-mini"), ...price("0.4/1.6/0.1") },
      "gpt-4o": { ...gpt4o, ...inJanuary("gpt-5.4"), ...price("2.5/10/1.25") },
      "gpt-4o-mini": { ...gpt4oMini, ...inJanuary("gpt-6-luna"), ...price("0.15/0.6/0.075") },
      o3: { ...o3, ...inDecember("gpt-5.5"), ...price("2/8/0.5") },
    },
  },
  embeddings: {
    models: {
      "text-embedding-3-small": { contextTokens: 8_192, ...price("0.02/0") },
      "text-embedding-3-large": { contextTokens: 8_192, ...price("0.13/0") },
      "text-embedding-ada-002": { contextTokens: 8_192, ...price("0.1/0") },
    },
  },
  unitModels: {
    // We assume the output image tokens of gpt-image-2. Lists disagree on the price of gpt-image-2.6.
    "gpt-image-2.5-sunburst": { ...gptImage, imageTokens: imageTokens2, prices: gptImagePrices },
    "gpt-image-2.5-flare": { ...gptImage, imageTokens: imageTokens2, prices: gptImagePrices },
    "gpt-image-2": { ...gptImage, imageTokens: imageTokens2, prices: gptImagePrices },
    "gpt-image-1.5": {
      ...endingImage,
      prices: [{ since, textIn: "5", cachedIn: "1.25", imageIn: "8", textOut: "10", imageOut: "32" }],
    },
    "gpt-image-1-mini": {
      ...endingImage,
      prices: [{ since, textIn: "2", cachedIn: "0.2", imageIn: "2.5", textOut: "8", imageOut: "8" }],
    },
    "dall-e-3": {
      ...dallE,
      imagesMax: 1,
      prices: listed({
        "1024x1024 standard": "0.04",
        "1024x1792 standard": "0.08",
        "1792x1024 standard": "0.08",
        "1024x1024 hd": "0.08",
        "1024x1792 hd": "0.12",
        "1792x1024 hd": "0.12",
      }),
    },
    "dall-e-2": {
      ...dallE,
      prices: listed({ "256x256 standard": "0.016", "512x512 standard": "0.018", "1024x1024 standard": "0.02" }),
    },
    "gpt-transcribe": { ...gptTranscribes, prices: [{ since: autumn, hours: "0.27" }] },
    "whisper-1": { ...whisper, prices: [{ since, hours: "0.36" }] },
    "gpt-4o-transcribe": { ...gptHears, prices: [{ since, textIn: "2.5", audioIn: "6", textOut: "10" }] },
    "gpt-4o-mini-transcribe": { ...gptHears, prices: [{ since, textIn: "1.25", audioIn: "3", textOut: "5" }] },
    "tts-1": { ...speaks, refuses: ["instructions"], prices: [{ since, characters: "15" }] },
    "tts-1-hd": { ...speaks, refuses: ["instructions"], prices: [{ since, characters: "30" }] },
    "gpt-4o-mini-tts": { ...speaks, streams: true, prices: [{ since, textIn: "0.6", audioOut: "12" }] },
    "gpt-realtime-2.1": { ...realtime2, prices: [{ since: autumn, ...realtimePrice, textOut: "24" }] },
    "gpt-realtime-2": { ...realtime2, prices: [{ since: autumn, ...realtimePrice, textOut: "24" }] },
    "gpt-realtime-2.1-mini": { ...realtime2, prices: [{ since: autumn, ...realtimeMiniPrice }] },
    "gpt-realtime": { ...realtime, ...ending("2.1"), prices: [{ since, ...realtimePrice, textOut: "16" }] },
    "gpt-realtime-mini": { ...realtime, ...ending("2.1-mini"), prices: [{ since, ...realtimeMiniPrice }] },
    "omni-moderation-latest": { kind: "moderation", dialect: "openai-moderation", prices: [free] },
  },
});
