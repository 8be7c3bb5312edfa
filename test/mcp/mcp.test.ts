// MCP at /mcp with the official client, in each way that it has of finding out the revision: what a model sees, runs and pays.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { get_encoding } from "tiktoken";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { localAction } from "../../src/catalog/local-action.ts";
import { eventually, startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";

const LONG = localAction({
  service: "test",
  action: "long",
  description: "Says more than fits into an answer.",
  category: "core",
  keywords: [],
  effect: "read",
  params: z.strictObject({}),
  price: { mode: "fixed", cents: 0 },
  run: async () => ({ words: "x".repeat(60_000) }),
  example: { params: {} },
});

let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  gateway = await startTestGateway({}, { actions: [LONG] });
  account = await gateway.account({ kind: "sandbox", creditCents: 100_000 });
});

afterAll(async () => {
  const findings = await gateway.doctor();
  await gateway.stop();
  expect(findings).toEqual([]);
});

type Mode = "legacy" | "auto" | { readonly pin: string };
const MODES: readonly [string, Mode][] = [
  ["legacy", "legacy"],
  ["auto", "auto"],
  ["pinned", { pin: "2026-07-28" }],
];

interface Connecting {
  readonly mode?: Mode;
  readonly key?: string | null;
  readonly query?: string;
}

async function connected<T>(
  { mode = "auto", key = account.key, query = "" }: Connecting,
  use: (client: Client) => Promise<T>,
) {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  const headers: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` };
  const url = new URL(`${gateway.url}/mcp${query}`);
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

type Json = Record<string, unknown>;

function envelopeOf(result: { structuredContent?: unknown }): Json {
  return result.structuredContent as Json;
}

describe.each(MODES)("a client in %s mode", (_, mode) => {
  it("finds, describes and runs an action, and sees what it cost", async () => {
    await connected({ mode }, async (client) => {
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual([
        "search_actions",
        "describe_action",
        "run_action",
        "get_result",
        "get_balance",
        "session",
        "close",
        "onescrape",
        "onesearch",
        "onefind",
        "ask_model",
      ]);
      const found = await client.callTool({ name: "search_actions", arguments: { query: "news about a company" } });
      expect((envelopeOf(found).data as Json[])[0]).toMatchObject({ service: expect.any(String) });
      const described = await client.callTool({ name: "describe_action", arguments: { action: "brave/search" } });
      expect(envelopeOf(described).data).toMatchObject({ params: { type: "object" } });
      const ran = await client.callTool({
        name: "run_action",
        arguments: { action: "brave/search", params: { q: "tolls" }, max_cost_cents: 5 },
      });
      expect(ran.isError ?? false).toBe(false);
      expect(envelopeOf(ran)).toMatchObject({ ok: true, charged_cents: expect.any(Number) });
      const balance = await client.callTool({ name: "get_balance", arguments: {} });
      expect(envelopeOf(balance).balance_cents).toBeLessThan(100_000);
    });
  });

  it("asks a model", async () => {
    const answer = await connected({ mode }, (client) =>
      client.callTool({ name: "ask_model", arguments: { model: "sandbox/ok", prompt: "[[say: one two three]]" } }),
    );
    expect(answer.content).toEqual([{ type: "text", text: "one two three" }]);
    expect(envelopeOf(answer)).toMatchObject({ usage: { cost: expect.any(Number) } });
  });

  it("reads the guide, and a prompt", async () => {
    await connected({ mode }, async (client) => {
      const { resources } = await client.listResources();
      expect(resources.map(({ uri }) => uri)).toContain("tollgate://llms.txt");
      const { contents } = await client.readResource({ uri: "tollgate://llms.txt" });
      expect(JSON.stringify(contents)).toContain("# Tollgate");
      const { messages } = await client.getPrompt({ name: "find_and_call", arguments: { task: "read a page" } });
      expect(JSON.stringify(messages)).toContain("read a page");
    });
  });
});

describe("what is wrong is a result that says so, and costs nothing", () => {
  const call = (name: string, args: Json, connecting: Connecting = {}) =>
    connected(connecting, (client) => client.callTool({ name, arguments: args }));

  it.each([
    ["run_action", { action: "nonsense" }, "action"],
    ["run_action", { action: "brave/search", params: {} }, "q"],
    ["run_action", { action: "no/such", params: {} }, "not_found"],
    ["run_action", { action: "brave/search", params: { q: "x" }, max_cost_cents: 0 }, "max_cost_exceeded"],
    ["get_result", {}, "job_id"],
    ["get_result", { job_id: "job_none" }, "not_found"],
    ["get_result", { continuation: "rest_none" }, "not_found"],
    ["ask_model", { prompt: "x", model: "nobody/nothing" }, "model_not_found"],
    ["no_such_tool", {}, "no tool"],
    ["get_balance", { more: 1 }, "more"],
  ])("%s %j names %s", async (name, args, named) => {
    const result = await call(name, args);
    expect([result.isError, JSON.stringify(result.content)]).toEqual([true, expect.stringContaining(named)]);
  });

  it("an account without money is told the code and what to do", async () => {
    const poor = await gateway.account({ creditCents: 0 });
    const result = await call("ask_model", { prompt: "x", model: "sandbox/ok" }, { key: poor.key });
    expect(JSON.stringify(result.content)).toContain("insufficient_balance");
  });

  it("a key's lists hold", async () => {
    const made = await fetch(`${gateway.url}/api/v1/agents`, {
      method: "POST",
      headers: { authorization: `Bearer ${account.key}`, "content-type": "application/json" },
      body: JSON.stringify({ label: "few", services: ["exa"] }),
    });
    const { api_key: key } = (await made.json()) as { api_key: string };
    const result = await call("run_action", { action: "brave/search", params: { q: "x" } }, { key });
    expect(JSON.stringify(result.content)).toContain("key_not_allowed");
  });

  it("without a key the catalog may be read, and nothing run", async () => {
    const described = await call("describe_action", { action: "brave/search" }, { key: null });
    expect(described.isError ?? false).toBe(false);
    const ran = await call("run_action", { action: "brave/search", params: { q: "x" } }, { key: null });
    expect(JSON.stringify(ran.content)).toContain("invalid_token");
  });

  it("a wrong key is 401 before anything is answered", async () => {
    const wrong = connected({ key: "tg_sk_wrong" }, (client) => client.listTools());
    await expect(wrong).rejects.toThrow();
  });
});

describe("keys of idempotency", () => {
  it("give the first answer again, uncharged", async () => {
    const args = { action: "brave/search", params: { q: "once" }, idempotency_key: "k-1" };
    await connected({}, async (client) => {
      const first = envelopeOf(await client.callTool({ name: "run_action", arguments: args }));
      const again = envelopeOf(await client.callTool({ name: "run_action", arguments: args }));
      expect(again.transaction_id).toBe(first.transaction_id);
    });
  });
});

describe("jobs", () => {
  it("are launched, waited for with progress, and their results are whole", async () => {
    await connected({}, async (client) => {
      const launched = envelopeOf(
        await client.callTool({
          name: "run_action",
          arguments: { action: "core/onescrape-deep", params: { urls: ["https://example.com/a"], budgetCents: 50 } },
        }),
      );
      const { job_id } = launched.data as { job_id: string };
      const told: number[] = [];
      const done = await client.callTool(
        { name: "get_result", arguments: { job_id, wait_seconds: 40 } },
        { onprogress: ({ progress }) => void told.push(progress) },
      );
      expect(envelopeOf(done).data).toMatchObject({ status: "succeeded" });
    });
  });
});

describe("pinned tools", () => {
  it("have the schemas of their actions", async () => {
    await connected({ query: "?tools=brave/search,exa/search,no/such" }, async (client) => {
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name).slice(-3)).toEqual(["brave_search", "exa_search", "ask_model"]);
      const ran = await client.callTool({ name: "brave_search", arguments: { q: "tolls" } });
      expect(envelopeOf(ran)).toMatchObject({ ok: true });
    });
  });
});

describe("long answers", () => {
  it("are cut, and their rest is had by its continuation, by their payer alone", async () => {
    await connected({}, async (client) => {
      const cut = await client.callTool({ name: "run_action", arguments: { action: "test/long", params: {} } });
      const { continuation, characters } = envelopeOf(cut) as { continuation: string; characters: number };
      let text = (cut.content as { text: string }[])[0]?.text ?? "";
      for (let next: string | null = continuation; next !== null; ) {
        const rest = await client.callTool({ name: "get_result", arguments: { continuation: next } });
        text += (rest.content as { text: string }[])[0]?.text ?? "";
        next = envelopeOf(rest).continuation as string | null;
      }
      expect([text.length, JSON.parse(text).data.words.length]).toEqual([characters, 60_000]);
      const other = await gateway.account({ kind: "sandbox" });
      const stolen = await connected({ key: other.key }, (theirs) =>
        theirs.callTool({ name: "get_result", arguments: { continuation } }),
      );
      expect(stolen.isError).toBe(true);
    });
  });
});

it("all tools together take under 2,500 tokens", async () => {
  const { tools } = await connected({}, (client) => client.listTools());
  const encoding = get_encoding("o200k_base");
  const tokens = encoding.encode(JSON.stringify(tools)).length;
  encoding.free();
  expect(tokens).toBeLessThan(2_500);
});

describe("the edge", () => {
  const post = (body: string, headers: Record<string, string> = {}) =>
    fetch(`${gateway.url}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
      body,
    });
  const LIST = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });

  it("takes no page of another origin", async () => {
    expect((await post(LIST, { origin: "https://evil.example" })).status).toBe(403);
    expect((await post(LIST, { origin: "http://localhost:6274" })).status).toBe(200);
  });

  it.each(["GET", "DELETE"])("%s is 405", async (method) => {
    expect((await fetch(`${gateway.url}/mcp`, { method })).status).toBe(405);
  });

  it("says what is wrong with a body", async () => {
    expect((await post("{")).status).toBe(400);
    expect((await post("x".repeat(5 * 1024 * 1024))).status).toBe(413);
  });

  it("takes no batch: many calls would be counted as one", async () => {
    expect((await post(` [${LIST},${LIST}]`)).status).toBe(400);
  });

  it("looks at no more names than any body may have", async () => {
    const many = Object.fromEntries(Array.from({ length: 30_000 }, (_, at) => [`k${at}`, at]));
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "get_balance", arguments: many } };
    expect((await post(JSON.stringify(body))).status).toBe(400);
  });

  it("a request is counted once, however many calls it makes inside", async () => {
    const slow = await gateway.account({ kind: "sandbox", requestsPerMinute: 5 });
    const headers = { authorization: `Bearer ${slow.key}` };
    const statuses: number[] = [];
    for (let at = 0; at < 6; at++) statuses.push((await post(LIST, headers)).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
  });

  it("a caller who leaves ends the call, and is charged as any that leaves", async () => {
    const left = new AbortController();
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "ask_model", arguments: { model: "sandbox/silent", prompt: "x" } },
    });
    const pending = fetch(`${gateway.url}/mcp`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: `Bearer ${account.key}`,
      },
      body,
      signal: left.signal,
    }).catch((error: unknown) => error);
    const held = async () => {
      const answer = await fetch(`${gateway.url}/api/v1/account`, {
        headers: { authorization: `Bearer ${account.key}` },
      });
      return ((await answer.json()) as { held_cents: number }).held_cents;
    };
    await eventually(async () => ((await held()) > 0 ? true : undefined), "the hold");
    left.abort();
    await pending;
    await eventually(async () => ((await held()) === 0 ? true : undefined), "the end of the hold");
  });
});

describe("the bridge for clients without HTTP", () => {
  it("passes messages on, with its key, and says what came", async () => {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: ["--disable-warning=ExperimentalWarning", "src/cli.ts", "mcp", "--url", gateway.url],
      env: { PATH: process.env.PATH ?? "", TOLLGATE_API_KEY: account.key },
      stderr: "ignore",
    });
    const client = new Client({ name: "test", version: "1" });
    await client.connect(transport);
    const answer = await client.callTool({
      name: "ask_model",
      arguments: { model: "sandbox/ok", prompt: "[[say: hi]]" },
    });
    await client.close();
    expect(answer.content).toEqual([{ type: "text", text: "hi" }]);
  });
});
