// The gateway's own test upstream, in the messages wire: the model's name selects the simulated fault, `ok` for none.
import { defineAdapter, keyHeader } from "#adapter";

const price = { since: "2026-01-01", input: "1.00", output: "2.00", cacheRead: "0.10" };

export default defineAdapter({
  name: "Sandbox (messages)",
  docs: "docs/guides/sandbox.md",
  origin: "http://sandbox.invalid",
  auth: keyHeader("x-api-key"),
  sandboxOnly: true,
  headers: { "anthropic-version": "2023-06-01" },
  chat: {
    dialect: "messages",
    toolCalls: "strict",
    models: {},
    anyModel: { contextTokens: 200_000, prices: [price], parts: { imageTokensMax: 85, fileTokensMax: 85 } },
  },
});
