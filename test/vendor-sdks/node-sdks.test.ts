// What vendors' own SDKs send, beside what our adapters send for the same: method, host, path, how the key is shown, and every field.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/catalog/said.ts";
import { wire } from "../support/adapter-wire.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";
import { type Recorded, type Recorder, startRecorder } from "./recorder.ts";

const KEY = "key-of-ours";

/** What is compared of a request. */
interface Told {
  readonly method: string;
  readonly at: string;
  /** The header that has the key, and how. */
  readonly auth: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** What is known to differ, with the reason: fields that one side alone sends, and how each says where it goes and who asks. */
interface Apart {
  readonly ours?: readonly string[];
  readonly theirs?: readonly string[];
  readonly at?: readonly [ours: string, theirs: string];
  readonly auth?: readonly [ours: string, theirs: string];
  readonly why: string;
}

function authOf(headers: Readonly<Record<string, unknown>>, query: Readonly<Record<string, string>>): string {
  const found = Object.entries(headers).find(([, value]) => typeof value === "string" && value.includes(KEY));
  if (found !== undefined) return `${found[0].toLowerCase()}: ${String(found[1]).toLowerCase()}`;
  return Object.entries(query).find(([, value]) => value === KEY)?.[0] ?? "none";
}

function toldOf({
  method,
  host,
  path,
  query,
  headers,
  body,
}: Omit<Recorded, "headers"> & { headers: Readonly<Record<string, unknown>> }): Told {
  return { method, at: host + path, auth: authOf(headers, query), query, body };
}

function without(value: unknown, names: readonly string[] = []): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));
}

function same(ours: Told, theirs: Told, apart: Apart | undefined): void {
  const plain = (one: Told, names: readonly string[] = []) => ({
    method: one.method,
    query: without(one.query, names),
    body: without(one.body, names) ?? {},
  });
  expect(plain(ours, apart?.ours)).toEqual(plain(theirs, apart?.theirs));
  expect([ours.at, theirs.at]).toEqual(apart?.at ?? [theirs.at, theirs.at]);
  expect([ours.auth, theirs.auth]).toEqual(apart?.auth ?? [theirs.auth, theirs.auth]);
  expect(theirs.auth).not.toBe("none");
  // A difference that is named and is none any more is to go.
  const has = (one: Told, name: string) => Object.hasOwn({ ...one.query, ...(one.body as object) }, name);
  expect((apart?.ours ?? []).filter((name) => !has(ours, name))).toEqual([]);
  expect((apart?.theirs ?? []).filter((name) => !has(theirs, name))).toEqual([]);
  expect(apart?.at?.[0] === undefined || apart.at[0] !== apart.at[1]).toBe(true);
}

let recorder: Recorder;
beforeAll(async () => {
  recorder = await startRecorder();
});
afterAll(() => recorder.close());

type Ask = () => Promise<unknown>;

interface ActionRow {
  readonly sdk: string;
  readonly vendor: string;
  readonly action: string;
  readonly params: JsonObject;
  readonly ask: Ask;
  /** Paths that the SDK asks by itself, before. */
  readonly ofItsOwn?: RegExp;
  readonly apart?: Apart;
}

const AGENT = "agent-123e4567-e89b-42d3-a456-426614174000";
const messages = [{ role: "user" as const, content: "hello" }];

const ACTIONS: readonly ActionRow[] = [
  {
    sdk: "exa-js",
    vendor: "exa",
    action: "search",
    params: { query: "tides", numResults: 5, includeDomains: ["a.org"], startPublishedDate: "2026-01-31" },
    async ask() {
      const { Exa } = await import("exa-js");
      return new Exa(KEY).search("tides", {
        numResults: 5,
        includeDomains: ["a.org"],
        startPublishedDate: "2026-01-31",
        type: "auto",
        contents: false,
      } as never);
    },
  },
  {
    sdk: "exa-js",
    vendor: "exa",
    action: "contents",
    params: { urls: ["https://a.org/"], text: true },
    async ask() {
      const { Exa } = await import("exa-js");
      return new Exa(KEY).getContents(["https://a.org/"], { text: true });
    },
  },
  {
    sdk: "@tavily/core",
    vendor: "tavily",
    action: "search",
    params: { query: "tides", max_results: 5, topic: "news" },
    async ask() {
      const { tavily } = await import("@tavily/core");
      return tavily({ apiKey: KEY }).search("tides", { maxResults: 5, topic: "news", searchDepth: "basic" });
    },
  },
  {
    sdk: "@tavily/core",
    vendor: "tavily",
    action: "extract",
    params: { urls: ["https://a.org/"] },
    async ask() {
      const { tavily } = await import("@tavily/core");
      return tavily({ apiKey: KEY }).extract(["https://a.org/"], { format: "markdown" });
    },
  },
  {
    sdk: "@mendable/firecrawl-js",
    vendor: "firecrawl",
    action: "scrape",
    params: { url: "https://a.org/", formats: ["markdown"] },
    async ask() {
      const { default: Firecrawl } = await import("@mendable/firecrawl-js");
      const more = {
        onlyMainContent: true,
        parsers: [{ type: "pdf" as const, maxPages: 10 }],
        timeout: 50_000,
        waitFor: 0,
      };
      return new Firecrawl({ apiKey: KEY }).scrape("https://a.org/", { formats: ["markdown"], ...more });
    },
    apart: { theirs: ["origin"], why: "the SDK names itself" },
  },
  {
    sdk: "@mendable/firecrawl-js",
    vendor: "firecrawl",
    action: "map",
    params: { url: "https://a.org/", limit: 10 },
    async ask() {
      const { default: Firecrawl } = await import("@mendable/firecrawl-js");
      return new Firecrawl({ apiKey: KEY }).map("https://a.org/", { limit: 10 });
    },
    apart: { theirs: ["origin"], why: "the SDK names itself" },
  },
  {
    sdk: "linkup-sdk",
    vendor: "linkup",
    action: "search",
    params: { q: "tides" },
    async ask() {
      const { LinkupClient } = await import("linkup-sdk");
      return new LinkupClient({ apiKey: KEY }).search({
        query: "tides",
        depth: "standard",
        outputType: "sourcedAnswer",
      });
    },
  },
  {
    sdk: "agentmail",
    vendor: "agentmail",
    action: "create_inbox",
    params: { username: "ada", display_name: "Ada" },
    async ask() {
      const { AgentMailClient } = await import("agentmail");
      return new AgentMailClient({ apiKey: KEY }).inboxes.create({ username: "ada", displayName: "Ada" });
    },
  },
  {
    sdk: "agentmail",
    vendor: "agentmail",
    action: "send",
    params: { inbox_id: "ada@agentmail.to", to: ["b@example.org"], subject: "Hi", text: "Hello" },
    async ask() {
      const { AgentMailClient } = await import("agentmail");
      const { messages: mail } = new AgentMailClient({ apiKey: KEY }).inboxes;
      return mail.send("ada@agentmail.to", { to: ["b@example.org"], subject: "Hi", text: "Hello" });
    },
  },
  {
    sdk: "@letta-ai/letta-client",
    vendor: "letta",
    action: "agent-create",
    params: { name: "ada" },
    async ask() {
      const { Letta } = await import("@letta-ai/letta-client");
      const model = { embedding: "openai/text-embedding-3-small", model: "openai/gpt-5.4-mini" };
      return new Letta({ apiKey: KEY }).agents.create({ name: "ada", ...model });
    },
  },
  {
    sdk: "@getzep/zep-cloud",
    vendor: "zep",
    action: "user-add",
    params: { user_id: "ada", email: "ada@example.org" },
    async ask() {
      const { ZepClient } = await import("@getzep/zep-cloud");
      return new ZepClient({ apiKey: KEY }).user.add({ userId: "ada", email: "ada@example.org" });
    },
  },
  {
    sdk: "@getzep/zep-cloud",
    vendor: "zep",
    action: "thread-create",
    params: { thread_id: "t1", user_id: "ada" },
    async ask() {
      const { ZepClient } = await import("@getzep/zep-cloud");
      return new ZepClient({ apiKey: KEY }).thread.create({ threadId: "t1", userId: "ada" });
    },
  },
  {
    sdk: "parallel-web",
    vendor: "parallel",
    action: "search",
    params: { query: "tides" },
    async ask() {
      const { default: Parallel } = await import("parallel-web");
      return new Parallel({ apiKey: KEY }).search({
        objective: "tides",
        search_queries: ["tides"],
        mode: "advanced",
      } as never);
    },
  },
  {
    sdk: "parallel-web",
    vendor: "parallel",
    action: "task",
    params: { input: "Who keeps the tides?" },
    async ask() {
      const { default: Parallel } = await import("parallel-web");
      return new Parallel({ apiKey: KEY }).taskRun.create({ input: "Who keeps the tides?", processor: "pro" });
    },
  },
  {
    sdk: "mem0ai",
    vendor: "mem0",
    action: "search",
    params: { query: "tea", user_id: "ada" },
    async ask() {
      const { MemoryClient } = await import("mem0ai");
      return new MemoryClient({ apiKey: KEY }).search("tea", { filters: { user_id: "ada" }, topK: 10 } as never);
    },
    ofItsOwn: /ping/,
    apart: { theirs: ["output_format"], why: "its own form of answers, beside the one that is the default" },
  },
  {
    sdk: "exa-js",
    vendor: "exa",
    action: "answer",
    params: { query: "What are tides?" },
    async ask() {
      const { Exa } = await import("exa-js");
      return new Exa(KEY).answer("What are tides?");
    },
    apart: { theirs: ["model", "stream", "text"], why: "its defaults, said" },
  },
  {
    sdk: "@getzep/zep-cloud",
    vendor: "zep",
    action: "add",
    params: { thread_id: "t1", messages: [{ role: "user", content: "I like tea" }] },
    async ask() {
      const { ZepClient } = await import("@getzep/zep-cloud");
      const said = [{ role: "user" as const, content: "I like tea" }];
      return new ZepClient({ apiKey: KEY }).thread.addMessages("t1", { messages: said, returnContext: false });
    },
  },
  {
    sdk: "@getzep/zep-cloud",
    vendor: "zep",
    action: "get-context",
    params: { thread_id: "t1" },
    async ask() {
      const { ZepClient } = await import("@getzep/zep-cloud");
      return new ZepClient({ apiKey: KEY }).thread.getUserContext("t1");
    },
  },
  {
    sdk: "@letta-ai/letta-client",
    vendor: "letta",
    action: "message",
    params: { agent_id: AGENT, input: "hello" },
    async ask() {
      const { Letta } = await import("@letta-ai/letta-client");
      return new Letta({ apiKey: KEY }).agents.messages.create(AGENT, {
        input: "hello",
        max_steps: 10,
        streaming: false,
      });
    },
  },
  {
    sdk: "parallel-web",
    vendor: "parallel",
    action: "task-status",
    params: { run_id: "trun_1" },
    async ask() {
      const { default: Parallel } = await import("parallel-web");
      return new Parallel({ apiKey: KEY }).taskRun.retrieve("trun_1");
    },
  },
  {
    sdk: "agentmail",
    vendor: "agentmail",
    action: "reply",
    params: { inbox_id: "ada@agentmail.to", message_id: "m1", text: "Hello" },
    async ask() {
      const { AgentMailClient } = await import("agentmail");
      return new AgentMailClient({ apiKey: KEY }).inboxes.messages.reply("ada@agentmail.to", "m1", { text: "Hello" });
    },
  },
  {
    sdk: "@mendable/firecrawl-js",
    vendor: "firecrawl",
    action: "crawl-status",
    params: { id: "3f1c2b7a-1b2c-4d3e-8f4a-5b6c7d8e9f00" },
    async ask() {
      const { default: Firecrawl } = await import("@mendable/firecrawl-js");
      return new Firecrawl({ apiKey: KEY }).getCrawlStatus("3f1c2b7a-1b2c-4d3e-8f4a-5b6c7d8e9f00");
    },
  },
];

describe.each(ACTIONS)("$sdk: $vendor/$action", ({ vendor, action, params, ask, ofItsOwn, apart }) => {
  it("sends what we send", async () => {
    const sent = (await wire(vendor)).send(action, params);
    const url = new URL(sent.url);
    const ours = toldOf({
      method: sent.method,
      host: url.host,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: sent.headers,
      body: sent.body,
    });
    same(ours, toldOf(await recorder.first(ask, ofItsOwn)), apart);
  });
});

interface ModelRow {
  readonly sdk: string;
  readonly vendor: string;
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
    model: "voyage/voyage-3.5",
    path: "embeddings",
    body: { input: ["hello"] },
    async ask() {
      const { VoyageAIClient } = await import("voyageai");
      return new VoyageAIClient({ apiKey: KEY }).embed({ model: "voyage-3.5", input: ["hello"] });
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
];

describe.each(MODELS)("$sdk: $model at $vendor", ({ vendor, model, path = "chat/completions", body, ask, apart }) => {
  let gateway: TestGateway;
  let origin: URL;
  beforeAll(async () => {
    const catalog = await shippedCatalog();
    origin = new URL(catalog.adapters({ sandbox: true }).get(vendor)?.spec.origin ?? "");
    const name = vendor.toUpperCase().replaceAll("-", "_");
    const address = recorder.url + origin.pathname.replace(/\/$/, "");
    gateway = await startTestGateway({ [`${name}_API_KEY`]: KEY, [`${name}_BASE_URL`]: address });
  });
  afterAll(() => gateway.stop());

  it("sends what we send", async () => {
    const theirs = toldOf(await recorder.first(ask));
    const { key } = await gateway.account({ kind: "personal", creditCents: 1_000 });
    await fetch(`${gateway.url}/api/llm/v1/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model, ...(body ?? { messages, max_tokens: 50 }) }),
    });
    const last = recorder.last();
    if (last === undefined) throw new Error("the gateway has asked nobody");
    same(toldOf({ ...last, host: origin.host }), theirs, apart);
  });
});

interface SessionRow {
  readonly sdk: string;
  readonly vendor: string;
  readonly ask: Ask;
  readonly apart?: Apart;
}

const SESSIONS: readonly SessionRow[] = [
  {
    sdk: "@browserbasehq/sdk",
    vendor: "browserbase",
    async ask() {
      const { default: Browserbase } = await import("@browserbasehq/sdk");
      return new Browserbase({ apiKey: KEY }).sessions.create({
        browserSettings: { logSession: false, recordSession: false },
        keepAlive: true,
        timeout: 21_600,
        userMetadata: { tollgate: "a label of the call's own" },
        // Its types know other forms of what it sends.
      } as never);
    },
    apart: { ours: ["userMetadata"], theirs: ["userMetadata"], why: "its label is each call's own" },
  },
];

describe.each(SESSIONS)("$sdk: a session at $vendor", ({ vendor, ask, apart }) => {
  let gateway: TestGateway;
  let origin: URL;
  beforeAll(async () => {
    const catalog = await shippedCatalog();
    origin = new URL(catalog.adapters({ sandbox: true }).get(vendor)?.spec.origin ?? "");
    const name = vendor.toUpperCase().replaceAll("-", "_");
    const address = recorder.url + origin.pathname.replace(/\/$/, "");
    gateway = await startTestGateway({ [`${name}_API_KEY`]: KEY, [`${name}_BASE_URL`]: address });
  });
  afterAll(() => gateway.stop());

  it("begins as ours", async () => {
    const theirs = toldOf(await recorder.first(ask));
    const { key } = await gateway.account({ kind: "personal", creditCents: 1_000 });
    const call = () =>
      fetch(`${gateway.url}/api/run/${vendor}/create_session`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: "{}",
      });
    same(toldOf({ ...(await recorder.first(call)), host: origin.host }), theirs, apart);
  });
});
