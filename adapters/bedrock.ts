// Amazon Bedrock: Amazon's and others' models in its own wire (Converse), and Claude in Anthropic's. Enabled by BEDROCK_REGION together
// with AWS keys (and a session token, if there is one) or a Bedrock API key. Claude is called through global profiles because regional ones
// cost 10 % more; from opus 4.7 on, their ids have no version suffix. Unsure: which regions have which models, and the maximum tokens of an
// image (we assume twice the highest value in its list).
import { type AdapterSpec, bearer, defineAdapters, modelRows, sigv4 } from "#adapter";

const since = "2026-09-23";
const { price, sold } = modelRows(since);
const autumn = "2026-11-03";

const aws = {
  origin: "https://bedrock-runtime.{region}.amazonaws.com",
  settings: { region: { env: ["BEDROCK_REGION"] } },
  auth: sigv4({ service: "bedrock", region: "region" }),
  keyParts: ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"],
  otherLogins: [
    { auth: bearer, keyEnv: ["AWS_BEARER_TOKEN_BEDROCK"] },
    {
      auth: sigv4({ service: "bedrock", region: "region" }),
      keyParts: ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"],
    },
  ],
  alsoCalled: ["amazon-bedrock"],
  pricedAs: "aws",
  otelName: "aws.bedrock",
} satisfies Partial<AdapterSpec>;

/** Amazon's own models. They accept cache points except on tools. None enforces a schema, so schemas go into the prompt. */
const nova = {
  outputTokensMax: 10_000,
  takes: { efforts: [], formats: "json_object", cachePoints: ["system", "messages"] },
} as const;
const seen = (slug: string, contextTokens: number, rates: string) => ({
  ...sold(slug, [contextTokens], rates),
  parts: { imageTokensMax: 5_200, fileTokensMax: contextTokens },
});
/** Hides its reasoning. Not offered: effort `high`, which it rejects with an output limit, and without one no hold can be computed. */
const thinking = {
  outputTokensMax: 64_000,
  hidesReasoning: true,
  takes: { ...nova.takes, effortField: "reasoningConfig", efforts: ["none", "low", "medium"] },
} as const;
const gptOss = {
  outputTokensMax: 16_384,
  tokenizer: "o200k",
  takes: { effortField: "reasoning_effort", efforts: ["low", "medium", "high"] },
} as const;

/** Fields supported only by Anthropic's own API. */
const elsewhere = ["cache_control", "context_management"];
const claude = {
  contextTokens: 1_000_000,
  outputTokensMax: 128_000,
  parts: { imageTokensMax: 4_784, fileTokensMax: 1_000_000 },
  dropFields: ["temperature", "top_p", "top_k", ...elsewhere],
  reasoning: "effort" as const,
};
/** Models that always think. */
const always = { ...claude, reasoning: "effort-always" as const };
const sonnet55 = { slug: "anthropic/claude-sonnet-5.5", ...price("2/10/0.1/2.5", autumn) };
const older = {
  contextTokens: 200_000,
  outputTokensMax: 64_000,
  parts: { imageTokensMax: 1_600, fileTokensMax: 200_000 },
};
const opus = [{ since, input: "5", output: "25", cacheRead: "0.5", cacheWrite: "6.25" }];

/** With more than 100,000 prompt tokens, the whole call costs five times as much. */
const haiku55 = price("0.1/0.5/0.01/0.125", autumn, [100_000, "0.5/2.5/0.05/0.625"]);

export default defineAdapters({
  bedrock: {
    ...aws,
    name: "Amazon Bedrock",
    docs: "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html",
    beliefs: {
      "*": "which regions have which models, what those cost us beside the ones of the United States, and the most tokens of an image",
    },
    // One price list shows prices nearly a third higher in Europe, and 5 % higher in Asia.
    regionalCost: {
      setting: "region",
      everywhere: "global.",
      places: [
        { begins: "us-gov-", percent: 20 },
        { begins: "us-", percent: 0 },
        { begins: "", percent: 32, marginPercent: 10 },
      ],
    },
    chat: {
      dialect: "converse",
      // Converse has no such field, so the model may make several calls at once.
      dropFields: ["parallel_tool_calls"],
      models: {
        "global.amazon.nova-2-lite-v1:0": { ...seen("amazon/nova-2-lite-v1", 1_000_000, "0.3/2.5/0.075"), ...thinking },
        "amazon.nova-pro-v1:0": { ...seen("amazon/nova-pro-v1", 300_000, "0.8/3.2/0.2"), ...nova },
        "amazon.nova-lite-v1:0": { ...seen("amazon/nova-lite-v1", 300_000, "0.06/0.24/0.015"), ...nova },
        "amazon.nova-micro-v1:0": { ...sold("amazon/nova-micro-v1", [128_000], "0.035/0.14/0.00875"), ...nova },
        "openai.gpt-oss-120b-1:0": { ...sold("openai/gpt-oss-120b", [128_000], "0.15/0.6"), ...gptOss },
        "openai.gpt-oss-20b-1:0": { ...sold("openai/gpt-oss-20b", [128_000], "0.07/0.3"), ...gptOss },
      },
    },
  },
  "bedrock-anthropic": {
    ...aws,
    name: "Claude on Amazon Bedrock",
    docs: "https://docs.anthropic.com/en/api/claude-on-amazon-bedrock",
    beliefs: { "*": "which regions have which models" },
    chat: {
      dialect: "messages",
      toolCalls: "strict",
      dropFields: elsewhere,
      // Bedrock fetches no URLs.
      fetches: "none",
      // Claude signs its reasoning in the same format at every vendor.
      reasoningFormat: "anthropic-claude-v1",
      // Models without effort levels.
      reasoning: "budget",
      extraFields: { anthropic_version: "bedrock-2023-05-31" },
      paths: {
        whole: "/model/{model}/invoke",
        stream: "/model/{model}/invoke-with-response-stream",
        without: ["model", "stream"],
      },
      models: {
        "global.anthropic.claude-opus-5-5": { ...always, slug: "anthropic/claude-opus-5.5", ...price("4/20/0.2/5") },
        "global.anthropic.claude-sonnet-5-5": { ...always, ...sonnet55 },
        "global.anthropic.claude-haiku-5-5": { ...claude, slug: "anthropic/claude-haiku-5.5", ...haiku55 },
        "global.anthropic.claude-opus-5": { ...claude, slug: "anthropic/claude-opus-5", prices: opus },
        "global.anthropic.claude-opus-4-8": { ...claude, slug: "anthropic/claude-opus-4.8", prices: opus },
        "global.anthropic.claude-sonnet-5": { ...claude, slug: "anthropic/claude-sonnet-5", ...price("2/10/0.2/2.5") },
        "global.anthropic.claude-haiku-4-5-20251001-v1:0": {
          ...older,
          slug: "anthropic/claude-haiku-4.5",
          ...price("1/5/0.1/1.25"),
        },
      },
    },
  },
});
