// The gateway's own test upstream, in the chat-completions wire: the model's name selects the simulated fault, `ok` for none.
import { bearer, defineAdapter } from "#adapter";

const price = { since: "2026-01-01", input: "1.00", output: "2.00", cacheRead: "0.10" };

export default defineAdapter({
  name: "Sandbox",
  docs: "docs/guides/sandbox.md",
  origin: "http://sandbox.invalid",
  auth: bearer,
  sandboxOnly: true,
  chat: {
    dialect: "chat-completions",
    toolCalls: "strict",
    toolSchemas: "plain",
    models: {},
    anyModel: {
      contextTokens: 200_000,
      prices: [price],
      parts: { imageTokensMax: 85, fileTokensMax: 85, audioTokensMax: 85 },
    },
  },
  embeddings: { models: {}, anyModel: { contextTokens: 8_192, prices: [{ ...price, output: "0" }] } },
});
