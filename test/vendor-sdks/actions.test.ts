// Compares the requests of vendors' own SDKs with those of our adapters' actions for the same purpose.
import { afterAll, beforeAll, describe, it } from "vitest";
import type { JsonObject } from "../../src/catalog/said.ts";
import { wire } from "../support/adapter-wire.ts";
import { type Recorder, startRecorder } from "./recorder.ts";
import { type Apart, KEY, same, toldOf } from "./told.ts";

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
  /** Paths of requests that the SDK makes by itself beforehand. */
  readonly ofItsOwn?: RegExp;
  readonly apart?: Apart;
}

const AGENT = "agent-123e4567-e89b-42d3-a456-426614174000";

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
  {
    sdk: "@fal-ai/client",
    vendor: "fal",
    action: "generate",
    params: { model: "flux-schnell", prompt: "a lighthouse at dawn" },
    async ask() {
      const { createFalClient } = await import("@fal-ai/client");
      return createFalClient({ credentials: KEY }).queue.submit("fal-ai/flux/schnell", {
        input: { prompt: "a lighthouse at dawn" },
      });
    },
  },
  {
    sdk: "@coingecko/coingecko-typescript",
    vendor: "coingecko",
    action: "fetch",
    params: { endpoint: "simple/price", ids: "bitcoin", vs_currencies: "usd" },
    async ask() {
      const { default: Coingecko } = await import("@coingecko/coingecko-typescript");
      const client = new Coingecko({ demoAPIKey: KEY, environment: "demo" });
      return client.simple.price.get({ ids: "bitcoin", vs_currencies: "usd" });
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
    same(ours, toldOf(await recorder.first(ask, { ofItsOwn })), apart);
  });
});
