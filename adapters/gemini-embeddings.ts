// Google's embeddings at its OpenAI-compatible address, at the price listed on 2026-11-26. Text only: other input costs more.
import { bearer, defineAdapter } from "#adapter";

const prices = [{ since: "2026-09-23", input: "0.2", output: "0" }];

export default defineAdapter({
  name: "Google Gemini, embeddings",
  docs: "https://ai.google.dev/gemini-api/docs/openai",
  beliefs: { "*": "whether it says how many tokens it has read, which are counted here where it does not" },
  origin: "https://generativelanguage.googleapis.com/v1beta/openai",
  auth: bearer,
  maker: "google",
  pricedAs: "google",
  keyEnv: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
  embeddings: { models: { "gemini-embedding-2": { contextTokens: 8_192, dropFields: ["user"], prices } } },
});
