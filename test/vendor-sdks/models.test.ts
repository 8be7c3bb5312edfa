// Compares the model requests of vendors' own SDKs with the gateway's.
import { afterAll, beforeAll, it } from "vitest";
import { type Recorder, startRecorder } from "./recorder.ts";
import { type Apart, KEY, same, toldOf } from "./told.ts";
import { startVendors, type VendorRow, type VendorsGateway } from "./vendors-gateway.ts";

let recorder: Recorder;
beforeAll(async () => {
  recorder = await startRecorder();
});
afterAll(() => recorder.close());

type Ask = () => Promise<unknown>;

const messages = [{ role: "user" as const, content: "hello" }];

interface ModelRow extends VendorRow {
  readonly sdk: string;
  readonly model: string;
  readonly path?: string;
  readonly body?: object;
  readonly ask: Ask;
  readonly apart?: Apart;
}

const MODELS: readonly ModelRow[] = [
  {
    sdk: "openai",
    vendor: "openai",
    model: "openai/gpt-5.4-mini",
    async ask() {
      const { default: OpenAI } = await import("openai");
      return new OpenAI({ apiKey: KEY }).chat.completions.create({
        model: "gpt-5.4-mini",
        messages,
        max_completion_tokens: 50,
      });
    },
  },
  {
    sdk: "openai, embeddings",
    vendor: "openai",
    model: "openai/text-embedding-3-small",
    path: "embeddings",
    body: { input: ["hello"] },
    async ask() {
      const { default: OpenAI } = await import("openai");
      return new OpenAI({ apiKey: KEY }).embeddings.create({
        model: "text-embedding-3-small",
        input: ["hello"],
        encoding_format: "float",
      });
    },
    apart: {
      theirs: ["encoding_format"],
      why: "its default; left out, the SDK asks for base64, which is its own economy",
    },
  },
  {
    sdk: "@anthropic-ai/sdk",
    vendor: "anthropic",
    model: "anthropic/claude-haiku-4.5",
    async ask() {
      const { default: Anthropic } = await import("@anthropic-ai/sdk");
      return new Anthropic({ apiKey: KEY }).messages.create({
        model: "claude-haiku-4-5",
        max_tokens: 50,
        messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
      });
    },
    apart: {
      auth: [`x-api-key: ${KEY}`, `authorization: bearer ${KEY}`],
      why: "the SDK shows every key as a bearer's since its first major; the vendor's reference has x-api-key",
    },
  },
  {
    sdk: "@google/genai",
    vendor: "gemini",
    model: "google/gemini-3.5-flash",
    async ask() {
      const { GoogleGenAI } = await import("@google/genai");
      return new GoogleGenAI({ apiKey: KEY }).models.generateContent({
        model: "gemini-3.5-flash",
        contents: [{ role: "user", parts: [{ text: "hello" }] }],
        config: { maxOutputTokens: 50 },
      });
    },
    apart: {
      at: [
        "generativelanguage.googleapis.com/v1beta/models/gemini-3.5-flash:generateContent",
        "generativelanguage.googleapis.com/v1/models/gemini-3.5-flash:generateContent",
      ],
      why: "both versions are served; the wire's newer fields are in v1beta",
    },
  },
  {
    sdk: "groq-sdk",
    vendor: "groq",
    model: "openai/gpt-oss-120b",
    async ask() {
      const { default: Groq } = await import("groq-sdk");
      return new Groq({ apiKey: KEY }).chat.completions.create({
        model: "openai/gpt-oss-120b",
        messages,
        max_completion_tokens: 50,
      });
    },
  },
  {
    sdk: "@cerebras/cerebras_cloud_sdk",
    vendor: "cerebras",
    model: "openai/gpt-oss-120b",
    async ask() {
      const { default: Cerebras } = await import("@cerebras/cerebras_cloud_sdk");
      const client = new Cerebras({ apiKey: KEY, warmTCPConnection: false });
      return client.chat.completions.create({ model: "gpt-oss-120b", messages, max_completion_tokens: 50 });
    },
  },
  {
    sdk: "@mistralai/mistralai",
    vendor: "mistral",
    model: "mistralai/mistral-small-2603",
    async ask() {
      const { Mistral } = await import("@mistralai/mistralai");
      return new Mistral({ apiKey: KEY }).chat.complete({ model: "mistral-small-2603", messages, maxTokens: 50 });
    },
    apart: { theirs: ["stream"], why: "its default, said" },
  },
  {
    sdk: "together-ai",
    vendor: "together",
    model: "openai/gpt-oss-120b",
    async ask() {
      const { default: Together } = await import("together-ai");
      return new Together({ apiKey: KEY }).chat.completions.create({
        model: "openai/gpt-oss-120b",
        messages,
        max_tokens: 50,
      });
    },
    apart: {
      at: ["api.together.xyz/v1/chat/completions", "api.together.ai/v1/chat/completions"],
      why: "two names of one host; the vendor's pages have the older one",
    },
  },
  {
    sdk: "@openrouter/sdk",
    vendor: "openrouter",
    model: "openai/gpt-5.4-mini",
    async ask() {
      const { OpenRouter } = await import("@openrouter/sdk");
      const order = { model: "openai/gpt-5.4-mini", messages, maxCompletionTokens: 50 };
      return new OpenRouter({ apiKey: KEY }).chat.send({ chatRequest: order } as never);
    },
    apart: { theirs: ["stream"], why: "its default, said" },
  },
  {
    sdk: "voyageai",
    vendor: "voyage",
    model: "voyage/rerank-2.5",
    path: "rerank",
    body: { query: "tides", documents: ["a", "b"], top_n: 1 },
    async ask() {
      const { VoyageAIClient } = await import("voyageai");
      const order = { model: "rerank-2.5", query: "tides", documents: ["a", "b"], topK: 1, returnDocuments: false };
      return new VoyageAIClient({ apiKey: KEY }).rerank(order);
    },
  },
  {
    sdk: "cohere-ai",
    vendor: "cohere",
    model: "cohere/rerank-v3.5",
    path: "rerank",
    body: { query: "tides", documents: ["a", "b"], top_n: 1 },
    async ask() {
      const { CohereClientV2 } = await import("cohere-ai");
      const order = { model: "rerank-v3.5", query: "tides", documents: ["a", "b"], topN: 1 };
      return new CohereClientV2({ token: KEY }).rerank(order);
    },
  },
  {
    sdk: "openai, as the vendor's pages have it",
    vendor: "deepseek",
    model: "deepseek/deepseek-v4-pro",
    async ask() {
      const { default: OpenAI } = await import("openai");
      return new OpenAI({ apiKey: KEY, baseURL: "https://api.deepseek.com/v1" }).chat.completions.create({
        model: "deepseek-v4-pro",
        messages,
        max_tokens: 50,
      });
    },
  },
  {
    sdk: "openai, as the vendor's pages have it",
    vendor: "xai",
    model: "x-ai/grok-4.7",
    async ask() {
      const { default: OpenAI } = await import("openai");
      return new OpenAI({ apiKey: KEY, baseURL: "https://api.x.ai/v1" }).chat.completions.create({
        model: "grok-4.7",
        messages,
        max_completion_tokens: 50,
      });
    },
  },
  {
    sdk: "openai, as the vendor's pages have it",
    vendor: "fireworks",
    model: "qwen/qwen3.7-plus",
    async ask() {
      const { default: OpenAI } = await import("openai");
      return new OpenAI({ apiKey: KEY, baseURL: "https://api.fireworks.ai/inference/v1" }).chat.completions.create({
        model: "accounts/fireworks/models/qwen3p7-plus",
        messages,
        max_tokens: 50,
      });
    },
  },
  {
    sdk: "openai, as the server's pages have it",
    vendor: "ollama",
    model: "ollama/llama3",
    async ask() {
      const { default: OpenAI } = await import("openai");
      return new OpenAI({ apiKey: KEY, baseURL: "http://localhost:11434/v1" }).chat.completions.create({
        model: "llama3",
        messages,
        max_tokens: 50,
      });
    },
  },
  {
    sdk: "@perplexity-ai/perplexity_ai",
    vendor: "perplexity",
    model: "perplexity/sonar",
    async ask() {
      const { default: Perplexity } = await import("@perplexity-ai/perplexity_ai");
      return new Perplexity({ apiKey: KEY }).responses.create({
        model: "perplexity/sonar",
        input: [{ type: "message", role: "user", content: "hello" }],
        max_output_tokens: 50,
        max_steps: 1,
        store: false,
        tools: [{ type: "web_search", search_context_size: "low", max_tokens: 8_000 }],
      });
    },
    apart: {
      at: ["api.perplexity.ai/v1/agent", "api.perplexity.ai/v1/responses"],
      ours: ["tool_choice"],
      why: "two names of one address; its types do not know the field, without which the model may answer unsearched: a belief of the adapter's",
    },
  },
  {
    sdk: "openai, for Azure",
    vendor: "azure-openai-dated",
    model: "openai/gpt-4.1",
    settings: {
      AZURE_OPENAI_API_KEY: KEY,
      AZURE_OPENAI_RESOURCE: "ours",
      AZURE_OPENAI_API_VERSION: "2024-10-21",
      AZURE_OPENAI_DATED_DEPLOYMENTS: "gpt-4.1=prod-41",
    },
    async ask() {
      const { AzureOpenAI } = await import("openai");
      const endpoint = "https://ours.openai.azure.com";
      const client = new AzureOpenAI({ apiKey: KEY, endpoint, apiVersion: "2024-10-21", deployment: "prod-41" });
      return client.chat.completions.create({ model: "prod-41", messages, max_completion_tokens: 50 });
    },
    apart: { theirs: ["model"], why: "the address names the deployment" },
  },
];

const started = Promise.withResolvers<VendorsGateway>();
beforeAll(() => startVendors(MODELS, recorder.url).then(started.resolve, started.reject));
afterAll(async () => (await started.promise).gateway.stop());

it.each(MODELS)("$sdk sends what we send: $model at $vendor", async (row) => {
  const { vendor, model, path = "chat/completions", body, ask, apart } = row;
  const { hostOf, post } = await started.promise;
  const theirs = toldOf(await recorder.first(ask));
  const prompt = { messages, max_tokens: 50, provider: { only: [vendor] } };
  const ours = await recorder.first(() => post(`/api/llm/v1/${path}`, { model, ...(body ?? prompt) }), {
    toItsEnd: true,
  });
  same(toldOf({ ...ours, host: hostOf(row) }), theirs, apart);
});
