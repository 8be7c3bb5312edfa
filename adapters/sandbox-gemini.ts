// The gateway's own test upstream, in the generateContent wire: the model's name selects the simulated fault, `ok` for none.
import { defineAdapter, keyHeader } from "#adapter";

const price = { since: "2026-01-01", input: "1.00", output: "2.00", cacheRead: "0.10" };

export default defineAdapter({
  name: "Sandbox (generateContent)",
  docs: "docs/guides/sandbox.md",
  origin: "http://sandbox.invalid",
  auth: keyHeader("x-goog-api-key"),
  sandboxOnly: true,
  chat: {
    dialect: "generate-content",
    models: {},
    anyModel: { contextTokens: 200_000, prices: [price], parts: { imageTokensMax: 85, fileTokensMax: 85 } },
  },
});
