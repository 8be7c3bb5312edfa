// Google's Gemini, first-hand, at the prices listed on 2026-11-23. For embeddings see gemini-embeddings.ts, which uses OpenAI's wire.
import { defineAdapter, ended, keyHeader, modelRows, usd } from "#adapter";

const since = "2026-08-21";
const { price } = modelRows(since);

// Gemini 3 counts an image for at most 2,240 tokens, which a caller must request, and a page for 1,120. Gemini 2.5 cuts an image into tiles
// of 258 tokens, at most some thirty for the longest strip, and counts a page for 258. A document has at most 1,000 pages. Speech costs
// more than text on most models, so none of them accepts it here.
const gemini3 = {
  contextTokens: 1_000_000,
  outputTokensMax: 65_536,
  parts: { imageTokensMax: 2_240, fileTokensMax: 1_000_000 },
};
const gemini2 = { ...gemini3, parts: { imageTokensMax: 8_256, fileTokensMax: 258_000 } };
const flash3 = { ...gemini3, reasoning: "effort" } as const;
/** Models that always think; LOW is the minimum. */
const always = { ...gemini3, reasoning: "effort-always" } as const;

// With more than 200,000 prompt tokens, the whole call costs more.
const pro3 = price("2/12/0.2", since, [200_000, "4/18/0.4"]);
const pro2 = price("1.25/10/0.125", since, [200_000, "2.5/15/0.25"]);

/** Half price until the end of the year. */
const flash = [
  { since: "2026-09-23", ...usd("0.75/3.75/0.075") },
  { since: "2027-01-01", ...usd("1.5/7.5/0.15") },
];

/** Half price until the end of November. Unsure: the longest answer; other sources have higher and lower values. */
const argon = [
  { since: "2026-10-13", ...usd("2/10/0.1") },
  { since: "2026-12-01", ...usd("4/20/0.2") },
];

const inDecember = (successor: string) => ({ retires: { on: "2026-12-01", successor: `google/${successor}` } });
/** Google announces the earliest possible day; it may announce a later one. */
const inMay = { retires: { on: "2027-05-07", successor: "google/gemini-3.5-flash-lite" } };
// An image is 1,120 tokens at 1K (1,290 with 2.5); the output limit, which is sent with every request, leaves room for three images and for
// reasoning.
const images = { kind: "images", dialect: "gemini-images", imagesMax: 1, outputTokensMax: 4_096 } as const;
/** Images cost as much as text to read. */
const painted = (read: string, rates: { readonly textOut: string; readonly imageOut: string }, from = since) => ({
  ...images,
  prices: [{ since: from, textIn: read, imageIn: read, ...rates }],
});
const proImage = painted("2", { textOut: "12", imageOut: "120" });
const flashImage = painted("0.5", { textOut: "3", imageOut: "60" });

export default defineAdapter({
  name: "Google Gemini",
  docs: "https://ai.google.dev/api/generate-content",
  beliefs: { "*": "how long an answer of its newest fast model may be" },
  origin: "https://generativelanguage.googleapis.com/v1beta",
  auth: keyHeader("x-goog-api-key"),
  maker: "google",
  nativeActions: { generate: "chat-completions" },
  alsoCalled: ["google-ai-studio"],
  pricedAs: "google",
  otelName: "gcp.gemini",
  keyEnv: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
  chat: {
    dialect: "generate-content",
    // Parallel calls cannot be disabled, and newer models reject penalties. The answer names these fields as dropped.
    dropFields: ["parallel_tool_calls", "presence_penalty", "frequency_penalty"],
    hidesReasoning: true,
    reasoningFormat: "google-gemini-v1",
    models: {
      "gemini-4-argon": { ...always, prices: argon },
      "gemini-3.8-flash": { ...always, prices: flash },
      "gemini-3.7-flash": { ...always, prices: flash },
      "gemini-3.6-flash": { ...flash3, prices: flash },
      "gemini-3.5-flash": { ...flash3, ...price("1.5/9/0.15") },
      "gemini-3.5-flash-lite": { ...flash3, ...price("0.3/2.5/0.03") },
      "gemini-3.1-pro-preview": { ...always, ...pro3 },
      "gemini-3.1-flash-lite": { ...flash3, ...inMay, ...price("0.25/1.5/0.025") },
      "gemini-3-flash-preview": { ...flash3, ...price("0.5/3/0.05") },
      "gemini-2.5-pro": { ...gemini2, ...inDecember("gemini-3.1-pro-preview"), reasoning: "budget-always", ...pro2 },
      "gemini-2.5-flash": { ...gemini2, ...inDecember("gemini-3.6-flash"), ...price("0.3/2.5/0.03") },
      "gemini-2.5-flash-lite": { ...gemini2, ...inDecember("gemini-3.5-flash-lite"), ...price("0.1/0.4/0.01") },
    },
  },
  unitModels: {
    "gemini-3-pro-image": proImage,
    "gemini-3.1-flash-image": flashImage,
    "gemini-nano-banana-2.1": painted("1.5", { textOut: "7.5", imageOut: "30" }, "2026-11-03"),
    "gemini-3.1-flash-lite-image": painted("0.25", { textOut: "1.5", imageOut: "30" }),
    "gemini-3-pro-image-preview": { ...proImage, ...ended("2026-06-25", "google/gemini-3-pro-image") },
    "gemini-3.1-flash-image-preview": { ...flashImage, ...ended("2026-06-25", "google/gemini-3.1-flash-image") },
    "gemini-2.5-flash-image": {
      ...painted("0.3", { textOut: "2.5", imageOut: "30" }),
      ...ended("2026-10-02", "google/gemini-3.1-flash-lite-image"),
    },
  },
});
