// The gateway's own test upstream, in the converse wire: the model's name selects the simulated fault, `ok` for none.
import { bearer, defineAdapter } from "#adapter";

const price = { since: "2026-01-01", input: "1.00", output: "2.00", cacheRead: "0.10" };

export default defineAdapter({
  name: "Sandbox (converse)",
  docs: "docs/guides/sandbox.md",
  origin: "http://sandbox.invalid",
  auth: bearer,
  sandboxOnly: true,
  chat: {
    dialect: "converse",
    takes: {
      cachePoints: ["system", "messages", "tools"],
      effortField: "reasoningConfig",
      efforts: ["none", "low", "medium", "high"],
    },
    models: {},
    anyModel: { contextTokens: 200_000, prices: [price], parts: { imageTokensMax: 85, fileTokensMax: 85 } },
  },
});
