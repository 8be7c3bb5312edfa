// Google's Vertex AI: Gemini and Claude in the operator's own project, at their makers' prices. Enabled by VERTEX_PROJECT together with the
// key file of a service account. Claude is called only at the global address, because elsewhere it costs 10 % more.
import { type AdapterSpec, type Auth, defineAdapters, modelRows, serviceAccount, usd } from "#adapter";

const since = "2026-08-21";
const { price, named } = modelRows(since);
const lately = "2026-09-23";
const autumn = "2026-11-03";

const auth: Auth = serviceAccount("https://www.googleapis.com/auth/cloud-platform");
const keyEnv = ["VERTEX_CREDENTIALS", "GOOGLE_APPLICATION_CREDENTIALS"];
const project = { env: ["VERTEX_PROJECT"] };

const gemini3 = {
  contextTokens: 1_000_000,
  outputTokensMax: 65_536,
  parts: { imageTokensMax: 2_240, fileTokensMax: 1_000_000 },
};
const flash3 = { ...gemini3, reasoning: "effort" as const };
/** Models that always think. */
const always = { ...gemini3, reasoning: "effort-always" as const };
/** Half price until the end of the year. */
const flash = [
  { since: lately, ...usd("0.75/3.75/0.075") },
  { since: "2027-01-01", ...usd("1.5/7.5/0.15") },
];

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
const always5 = { ...claude, reasoning: "effort-always" as const };
const opus = [{ since, input: "5", output: "25", cacheRead: "0.5", cacheWrite: "6.25" }];

/** With more than 100,000 prompt tokens, the whole call costs five times as much. */
const haiku55 = price("0.1/0.5/0.01/0.125", autumn, [100_000, "0.5/2.5/0.05/0.625"]);

export default defineAdapters({
  vertex: {
    name: "Google Vertex AI",
    docs: "https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest",
    beliefs: {
      "*": "what all models cost us at other locations than the global one: a list says a tenth more of most",
    },
    regionalCost: {
      setting: "location",
      places: [
        { begins: "global", percent: 0 },
        { begins: "", percent: 10, marginPercent: 10 },
      ],
    },
    origin: "https://{location}-aiplatform.googleapis.com/v1/projects/{project}/locations/{location}/publishers/google",
    settings: {
      project,
      location: {
        env: ["VERTEX_LOCATION"],
        fallback: "global",
        origins: {
          global: "https://aiplatform.googleapis.com/v1/projects/{project}/locations/global/publishers/google",
        },
      },
    },
    auth,
    keyEnv,
    alsoCalled: ["google-vertex"],
    pricedAs: "google",
    otelName: "gcp.vertex_ai",
    chat: {
      dialect: "generate-content",
      dropFields: ["parallel_tool_calls", "presence_penalty", "frequency_penalty"],
      // It rejects call ids as unknown fields, although the same models at Google's other address accept them.
      takes: { toolIds: "none" },
      hidesReasoning: true,
      reasoningFormat: "google-gemini-v1",
      models: named("google", {
        "gemini-3.8-flash": { ...always, prices: flash },
        "gemini-3.5-flash": { ...flash3, ...price("1.5/9/0.15") },
        "gemini-3.5-flash-lite": { ...flash3, ...price("0.3/2.5/0.03") },
        "gemini-3.1-pro-preview": { ...always, ...price("2/12/0.2", since, [200_000, "4/18/0.4"]) },
        "gemini-3.1-flash-lite": { ...flash3, ...price("0.25/1.5/0.025") },
      }),
    },
  },
  "vertex-anthropic": {
    name: "Claude on Google Vertex AI",
    docs: "https://docs.anthropic.com/en/api/claude-on-vertex-ai",
    origin: "https://aiplatform.googleapis.com/v1/projects/{project}/locations/global/publishers/anthropic",
    settings: { project },
    auth,
    keyEnv,
    alsoCalled: ["google-vertex"],
    pricedAs: "google",
    otelName: "gcp.vertex_ai",
    chat: {
      dialect: "messages",
      toolCalls: "strict",
      dropFields: elsewhere,
      // It fetches no URLs.
      fetches: "none",
      // Signed reasoning is Claude's, whichever vendor gets it back.
      reasoningFormat: "anthropic-claude-v1",
      // Models without effort levels.
      reasoning: "budget",
      extraFields: { anthropic_version: "vertex-2023-10-16" },
      paths: { whole: "/models/{model}:rawPredict", stream: "/models/{model}:streamRawPredict", without: ["model"] },
      models: {
        "claude-sonnet-5-5": { ...always5, slug: "anthropic/claude-sonnet-5.5", ...price("2/10/0.1/2.5", autumn) },
        "claude-haiku-5-5": { ...claude, slug: "anthropic/claude-haiku-5.5", ...haiku55 },
        "claude-opus-5-5": { ...always5, slug: "anthropic/claude-opus-5.5", ...price("4/20/0.2/5", lately) },
        "claude-opus-5": { ...claude, slug: "anthropic/claude-opus-5", prices: opus },
        "claude-opus-4-8": { ...claude, slug: "anthropic/claude-opus-4.8", prices: opus },
        "claude-sonnet-4-6": {
          contextTokens: 1_000_000,
          outputTokensMax: 64_000,
          parts: { imageTokensMax: 1_600, fileTokensMax: 1_000_000 },
          slug: "anthropic/claude-sonnet-4.6",
          ...price("3/15/0.3/3.75"),
        },
      },
    },
  },
} satisfies Record<string, AdapterSpec>);
