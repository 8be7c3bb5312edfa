// The gateway's own test upstream, once in each wire: the model's name selects the simulated fault, `ok` for none.
import { type AdapterSpec, type Auth, bearer, type ChatSpec, defineAdapters, keyHeader } from "#adapter";

const price = { since: "2026-01-01", input: "1.00", output: "2.00", cacheRead: "0.10" };
const parts = { imageTokensMax: 85, fileTokensMax: 85 };
const anyModel = { contextTokens: 200_000, prices: [price], parts };

const upstream = (wire: string, auth: Auth, chat: Omit<ChatSpec, "models">): AdapterSpec => ({
  name: wire === "" ? "Sandbox" : `Sandbox (${wire})`,
  docs: "docs/guides/sandbox.md",
  origin: "http://sandbox.invalid",
  auth,
  sandboxOnly: true,
  chat: { models: {}, anyModel, ...chat },
});

export default defineAdapters({
  "sandbox-converse": upstream("converse", bearer, {
    dialect: "converse",
    takes: {
      cachePoints: ["system", "messages", "tools"],
      effortField: "reasoningConfig",
      efforts: ["none", "low", "medium", "high"],
    },
  }),
  "sandbox-gemini": upstream("generateContent", keyHeader("x-goog-api-key"), { dialect: "generate-content" }),
  "sandbox-messages": {
    ...upstream("messages", keyHeader("x-api-key"), { dialect: "messages", toolCalls: "strict" }),
    headers: { "anthropic-version": "2023-06-01" },
  },
  "sandbox-responses": upstream("responses", bearer, { dialect: "responses", toolCalls: "strict" }),
  sandbox: {
    ...upstream("", bearer, {
      dialect: "chat-completions",
      toolCalls: "strict",
      toolSchemas: "plain",
      anyModel: { ...anyModel, parts: { ...parts, audioTokensMax: 85 } },
    }),
    embeddings: { models: {}, anyModel: { contextTokens: 8_192, prices: [{ ...price, output: "0" }] } },
  },
});
