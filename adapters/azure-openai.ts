// Azure OpenAI: OpenAI's models in the operator's own resources, at OpenAI's prices, which equal those of Azure's global deployments. Data
// zones cost 10 % more; unsure: single regions. AZURE_OPENAI_SCOPE sets the deployment type, and AZURE_OPENAI_DEPLOYMENTS the deployment
// names, such as `gpt-5.4=prod-54`. The newer API (/openai/v1) and the dated ones (api-version) are separate adapters.
import { type AdapterSpec, clientCredentials, defineAdapters, keyHeader, modelRows } from "#adapter";

const since = "2026-09-23";

const sized = (contextTokens: number, outputTokensMax: number, imageTokensMax: number) => ({
  contextTokens,
  outputTokensMax,
  tokenizer: "o200k" as const,
  parts: { imageTokensMax, fileTokensMax: contextTokens },
});
const { price, named } = modelRows(since);
const thinks = (...efforts: readonly ("none" | "minimal" | "low" | "medium" | "high" | "xhigh")[]) => ({
  takes: { messageFields: ["name", "refusal"], efforts },
});
const plain = { hidesReasoning: false, ...thinks() };

// Fields that other vendors added to the wire are rejected as unknown parameters.
const dropFields =
  "metadata thinking output_config safetySettings cache_control include_reasoning reasoning_format top_k top_a min_p repetition_penalty".split(
    " ",
  );

const gpt52 = {
  ...sized(272_000, 128_000, 1_445),
  ...thinks("none", "low", "medium", "high", "xhigh"),
  sampling: "unless-thinking" as const,
};
const older: NonNullable<AdapterSpec["chat"]>["models"] = named("openai", {
  "gpt-5.2": { ...gpt52, ...price("1.75/14/0.175") },
  "gpt-5.1": { ...gpt52, ...thinks("none", "low", "medium", "high"), ...price("1.25/10/0.125") },
  "gpt-4.1": { ...sized(1_000_000, 32_768, 1_445), ...plain, ...price("2/8/0.5") },
  "gpt-4.1-mini": { ...sized(1_000_000, 32_768, 2_489), ...plain, ...price("0.4/1.6/0.1") },
});
// These support tools together with reasoning only at /responses.
const newer = { ...gpt52, toolsDialect: "responses" as const };

const resource = { env: ["AZURE_OPENAI_RESOURCE"] };
const scope = { env: ["AZURE_OPENAI_SCOPE"], fallback: "global" };
const beliefs = {
  "*": "what deployments of a single region cost us: they are taken to cost a tenth more than those of data zones. AZURE_OPENAI_SCOPE says which they are",
};

const azure = {
  beliefs,
  auth: keyHeader("api-key"),
  keyEnv: ["AZURE_OPENAI_API_KEY"],
  // Entra's servers; AZURE_OPENAI_LOGIN_BASE_URL selects another cloud's.
  origins: { login: "https://login.microsoftonline.com" },
  otherLogins: [
    {
      auth: clientCredentials({
        origin: "login",
        path: "/{tenant}/oauth2/v2.0/token",
        scope: "https://cognitiveservices.azure.com/.default",
      }),
      keyParts: ["AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET"],
    },
  ],
  deployments: true,
  regionalCost: {
    setting: "scope",
    places: [
      { begins: "global", percent: 0 },
      { begins: "zone", percent: 10 },
      { begins: "region", percent: 10, marginPercent: 10 },
    ],
  },
  alsoCalled: ["azure"],
  // The list does not have these models yet: they are reported as unknown, and compared once it does.
  pricedAs: "azure",
  otelName: "azure.ai.openai",
} satisfies Partial<AdapterSpec>;
// Only preview versions of the dated API know the role `developer`.
const dated = Object.fromEntries(
  Object.entries(older).map(([id, model]) => [
    id,
    { ...model, takes: { ...model.takes, developerRole: "system" as const } },
  ]),
);
// The same sessions as OpenAI's. Azure has no list of image prices; they are taken to be OpenAI's.
const realtime = {
  kind: "realtime",
  dialect: "openai-realtime",
  inputTokensMax: 128_000,
  outputTokensMax: 32_000,
  audioTokensPerSecond: 10,
  imageInTokensMax: 2_500,
} as const;
const realtimeText = { textIn: "4", cachedIn: "0.4", imageIn: "5", cachedImageIn: "0.5", textOut: "24" };
const realtimeSound = { audioIn: "32", cachedAudioIn: "0.4", audioOut: "64" };
const realtimeMiniText = { textIn: "0.6", cachedIn: "0.06", imageIn: "0.8", cachedImageIn: "0.08", textOut: "2.4" };
const realtimeMiniSound = { audioIn: "10", cachedAudioIn: "0.3", audioOut: "20" };
const chat = {
  dialect: "chat-completions" as const,
  toolCalls: "strict" as const,
  toolSchemas: "plain" as const,
  hidesReasoning: true,
  maxTokensField: "max_completion_tokens" as const,
  dropFields,
};

export default defineAdapters({
  "azure-openai": {
    ...azure,
    name: "Azure OpenAI",
    docs: "https://learn.microsoft.com/azure/foundry/openai/api-version-lifecycle",
    origin: "https://{resource}.openai.azure.com/openai/v1",
    settings: { resource, scope },
    chat: {
      ...chat,
      models: {
        ...older,
        ...named("openai", {
          "gpt-5.4": {
            ...newer,
            ...sized(1_050_000, 128_000, 12_000),
            ...price("2.5/15/0.25", since, [272_000, "5/22.5/0.5"]),
          },
          "gpt-5.4-mini": { ...newer, ...sized(272_000, 128_000, 16_200), ...price("0.75/4.5/0.075") },
          "gpt-5.4-nano": { ...newer, ...sized(272_000, 128_000, 24_600), ...price("0.2/1.25/0.02") },
        }),
      },
    },
    unitModels: named("openai", {
      "gpt-realtime-2.1": { ...realtime, prices: [{ since, ...realtimeText, ...realtimeSound }] },
      "gpt-realtime-2.1-mini": { ...realtime, prices: [{ since, ...realtimeMiniText, ...realtimeMiniSound }] },
    }),
  },
  "azure-openai-dated": {
    ...azure,
    name: "Azure OpenAI, dated versions",
    docs: "https://learn.microsoft.com/azure/ai-services/openai/reference",
    origin: "https://{resource}.openai.azure.com/openai",
    settings: { resource, scope, version: { env: ["AZURE_OPENAI_API_VERSION"] } },
    chat: {
      ...chat,
      // Fields introduced after the dated versions.
      dropFields: [...dropFields, "store", "verbosity", "prompt_cache_key", "safety_identifier"],
      paths: {
        whole: "/deployments/{model}/chat/completions?api-version={version}",
        stream: "/deployments/{model}/chat/completions?api-version={version}",
        without: ["model"],
      },
      models: dated,
    },
  },
});
