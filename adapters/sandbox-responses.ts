// The gateway's own test upstream, in the responses wire: the model's name selects the simulated fault, `ok` for none.
import { bearer, defineAdapter } from "#adapter";

const price = { since: "2026-01-01", input: "1.00", output: "2.00", cacheRead: "0.10" };

export default defineAdapter({
  name: "Sandbox (responses)",
  docs: "docs/guides/sandbox.md",
  origin: "http://sandbox.invalid",
  auth: bearer,
  sandboxOnly: true,
  chat: {
    dialect: "responses",
    toolCalls: "strict",
    models: {},
    anyModel: { contextTokens: 200_000, prices: [price], parts: { imageTokensMax: 85, fileTokensMax: 85 } },
  },
});
