// MCP at /mcp with the official client, in each way that the client can negotiate the revision: what a model sees, runs and pays.
import { request } from "node:http";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { get_encoding } from "tiktoken";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { localAction } from "../../../src/catalog/local-action.ts";
import { readPins } from "../../../src/edge/mcp/pinned-tools.ts";
import { forFile } from "../../support/for-file.ts";
import { eventually, startTestGateway, withinAMinute } from "../../support/gateway.ts";
import { getAs, postAs } from "../../support/keyed-fetch.ts";

/** One character longer than a page, so that the cut would fall inside a character. */
const FACES = `x${"\u{1F600}".repeat(40_000)}`;

function saying(action: string, words: string) {
  return localAction({
    service: "test",
    action,
    description: "Says more than fits into an answer.",
    category: "core",
    keywords: [],
    effect: "read",
    params: z.strictObject({}),
    price: { mode: "fixed", cents: 0 },
    run: async () => ({ words }),
    example: { params: {} },
  });
}

/** Much longer than what the gateway reads to summarize it. */
const BOOK_CHARS = 5_000_000;
const LONG = [saying("long", "x".repeat(60_000)), saying("faces", FACES), saying("book", "y".repeat(BOOK_CHARS))];

const gateway = forFile(await startTestGateway({}, { actions: LONG }));
const account = await gateway.account({ kind: "sandbox", creditCents: 100_000 });

type Mode = "legacy" | "auto" | { readonly pin: string };
const MODES: readonly [string, Mode][] = [
  ["legacy", "legacy"],
  ["auto", "auto"],
  ["pinned", { pin: "2026-07-28" }],
];

interface Connecting {
  readonly mode?: Mode;
  /** The user's answer to an elicitation; null where the client does not support elicitation. */
  readonly asks?: ((message: string) => { action: "accept" | "decline" | "cancel"; content?: { buy: boolean } }) | null;
  readonly key?: string | null;
  readonly query?: string;
  readonly more?: Readonly<Record<string, string>>;
}

async function connected<T>(
  { mode = "auto", key = account.key, query = "", asks = null, more = {} }: Connecting,
  use: (client: Client) => Promise<T>,
) {
  const capabilities = asks === null ? {} : { elicitation: { form: {} } };
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode }, capabilities });
  if (asks !== null) client.setRequestHandler("elicitation/create", ({ params }) => asks(params.message));
  const headers: Record<string, string> = { ...more, ...(key === null ? {} : { authorization: `Bearer ${key}` }) };
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
        "start_run",
        "stop_run",
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
      const started = await client.callTool({ name: "start_run", arguments: { budget_cents: 50 } });
      expect(envelopeOf(started)).toMatchObject({ budget_cents: 50, status: "open" });
      const stopped = await client.callTool({ name: "stop_run", arguments: { run_id: envelopeOf(started).id } });
      expect(envelopeOf(stopped)).toMatchObject({ status: "stopped" });
    });
  });

  it("bounds all its calls by the headers that bound calls over HTTP, of which the lower holds", async () => {
    const search = { action: "brave/search", params: { q: "bounds" } };
    const run = (cents: string, own: object) =>
      connected({ mode, more: { "x-tollgate-max-cost-cents": cents } }, async (client) =>
        JSON.stringify((await client.callTool({ name: "run_action", arguments: { ...search, ...own } })).content),
      );
    expect(await run("0", {})).toContain("max_cost_exceeded");
    expect(await run("0", { max_cost_cents: 5 })).toContain("max_cost_exceeded");
    expect(await run("5", { max_cost_cents: 0 })).toContain("max_cost_exceeded");
    expect(await run("much", {})).toContain("x-tollgate-max-cost-cents");
    expect(await run("5", {})).toContain("charged_cents");
  });

  it("repeats a call under the Idempotency-Key of its request", async () => {
    const search = { action: "brave/search", params: { q: "again" } };
    const key = { "idempotency-key": `again-${JSON.stringify(mode).replaceAll('"', "")}` };
    const ids = await connected({ mode, more: key }, async (client) => {
      const run = () => client.callTool({ name: "run_action", arguments: search });
      return [await run(), await run()].map((result) => envelopeOf(result).transaction_id);
    });
    expect(ids[0]).toEqual(expect.any(String));
    expect(ids[1]).toBe(ids[0]);
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
    const made = await postAs(account.key, `${gateway.url}/api/v1/agents`, { label: "few", services: ["exa"] });
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

  it.each([
    ["brave_search", { q: "typed" }],
    ["onesearch", { query: "typed" }],
    ["ask_model", { model: "sandbox/ok", prompt: "typed" }],
  ])("are an argument of %s too", async (name, args) => {
    await connected({ query: "?tools=brave/search" }, async (client) => {
      const posted = async () => {
        const authorization = `Bearer ${account.key}`;
        const answer = await fetch(`${gateway.url}/api/v1/transactions?limit=100`, { headers: { authorization } });
        return ((await answer.json()) as { transactions: Json[] }).transactions.length;
      };
      const before = await posted();
      const asked = { ...args, idempotency_key: `typed-${name}` };
      const first = await client.callTool({ name, arguments: asked });
      expect(first.isError ?? false).toBe(false);
      const after = await posted();
      expect(after).toBeGreaterThan(before);
      await client.callTool({ name, arguments: asked });
      expect(await posted()).toBe(after);
    });
  });

  it("that differ by a quotation mark are two", async () => {
    await connected({}, async (client) => {
      const of = async (idempotency_key: string) => {
        const args = { action: "brave/search", params: { q: "once" }, idempotency_key };
        return envelopeOf(await client.callTool({ name: "run_action", arguments: args })).transaction_id;
      };
      expect(await of('a"b')).not.toBe(await of("ab"));
    });
  });
});

describe("the bound of a call", () => {
  it.each([
    ["brave_search", { q: "x" }],
    ["onescrape", { url: "https://example.com/a" }],
    ["session", { provider: "e2b", session_id: "s", command: "true" }],
    ["ask_model", { model: "sandbox/ok", prompt: "x" }],
  ])("is an argument of %s, and is checked", async (name, args) => {
    await connected({ query: "?tools=brave/search" }, async (client) => {
      const { tools } = await client.listTools();
      const { properties } = tools.find((tool) => tool.name === name)?.inputSchema ?? {};
      expect(Object.keys(properties ?? {})).toEqual(expect.arrayContaining(["max_cost_cents", "idempotency_key"]));
      const wrong = await client.callTool({ name, arguments: { ...args, max_cost_cents: "much" } });
      expect(JSON.stringify(wrong.content)).toContain("max_cost_cents");
    });
  });

  it("refuses what could cost more", async () => {
    await connected({ query: "?tools=brave/search" }, async (client) => {
      const dear = await client.callTool({ name: "brave_search", arguments: { q: "x", max_cost_cents: 0 } });
      expect(JSON.stringify(dear.content)).toContain("max_cost_exceeded");
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
    await connected({ query: "?tools=brave/search,exa/search" }, async (client) => {
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name).slice(-3)).toEqual(["brave_search", "exa_search", "ask_model"]);
      const ran = await client.callTool({ name: "brave_search", arguments: { q: "tolls" } });
      expect(envelopeOf(ran)).toMatchObject({ ok: true });
    });
  });

  it("that there are not are named", async () => {
    const listed = connected({ query: "?tools=brave/search,no/such" }, (client) => client.listTools());
    await expect(listed).rejects.toThrow("no/such");
  });

  it.each([
    ["brave", "brave"],
    [Array.from({ length: 21 }, (_, at) => `a/b${at}`).join(","), "at most 20"],
  ])("%s is refused, and the address told", async (tools, named) => {
    const answer = await fetch(`${gateway.url}/mcp?tools=${tools}`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
    });
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining(named)]);
  });

  it("have names of their own where two actions would share one", () => {
    expect(readPins(new URLSearchParams("tools=a/b_c,a_b/c,ask/model"))).toEqual({
      pins: [
        ["a/b_c", "a_b_c"],
        ["a_b/c", "a_b_c_2"],
        ["ask/model", "ask_model_2"],
      ],
    });
  });
});

describe("long answers", () => {
  async function wholeOf(client: Client, action: string) {
    const cut = await client.callTool({ name: "run_action", arguments: { action, params: {} } });
    const { continuation } = envelopeOf(cut) as { continuation: string };
    const pages = [(cut.content as { text: string }[])[0]?.text ?? ""];
    for (let next: string | null = continuation; next !== null; ) {
      const rest = await client.callTool({ name: "get_result", arguments: { continuation: next } });
      pages.push((rest.content as { text: string }[])[0]?.text ?? "");
      next = envelopeOf(rest).continuation as string | null;
    }
    return { about: envelopeOf(cut), continuation, pages };
  }

  it("are cut, and their rest is had by its continuation, as often as it is asked for, by their payer alone", async () => {
    await connected({}, async (client) => {
      const { about, continuation, pages } = await wholeOf(client, "test/long");
      expect(pages.join("").length).toBe(about.characters);
      expect(JSON.parse(pages.join("")).data.words.length).toBe(60_000);
      const again = await client.callTool({ name: "get_result", arguments: { continuation } });
      expect((again.content as { text: string }[])[0]?.text).toBe(pages[1]);
      const other = await gateway.account({ kind: "sandbox" });
      const stolen = await connected({ key: other.key }, (theirs) =>
        theirs.callTool({ name: "get_result", arguments: { continuation } }),
      );
      expect(stolen.isError).toBe(true);
    });
  });

  it("are not cut in the middle of a character", async () => {
    const { pages } = await connected({}, (client) => wholeOf(client, "test/faces"));
    expect(JSON.parse(pages.join("")).data.words).toBe(FACES);
    expect(pages.filter((page) => !page.isWellFormed())).toEqual([]);
  });

  it("of any length tell what they cost, and are whole", async () => {
    const { about, pages } = await connected({}, (client) => wholeOf(client, "test/book"));
    expect(about).toMatchObject({ ok: true, charged_cents: 0, cut: true });
    expect(JSON.parse(pages.join("")).data.words.length).toBe(BOOK_CHARS);
  });

  it("of a model are cut too", async () => {
    const answer = await connected({}, (client) =>
      client.callTool({
        name: "ask_model",
        arguments: { model: "sandbox/ok", prompt: `[[say: ${"word ".repeat(10_000)}]]`, max_tokens: 50_000 },
      }),
    );
    expect(envelopeOf(answer)).toMatchObject({ cut: true, continuation: expect.stringContaining("rest_") });
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
    const broken = await post("{");
    expect(broken.status).toBe(400);
    expect(await broken.text()).toMatch(/"bad_request".*body: not valid JSON/);
    expect((await post("x".repeat(5 * 1024 * 1024))).status).toBe(413);
  });

  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  };
  const modern = (method: string, params: Json) =>
    JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } });

  it("takes no call whose headers say another thing than its body", async () => {
    const body = modern("tools/call", { name: "get_balance", arguments: {} });
    const right = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "get_balance" };
    const authorization = `Bearer ${account.key}`;
    expect((await post(body, { ...right, authorization })).status).toBe(200);
    for (const wrong of [
      { "mcp-method": "tools/list" },
      { "mcp-name": "run_action" },
      { "mcp-protocol-version": "1" },
    ]) {
      const refused = await post(body, { ...right, ...wrong, authorization });
      expect([refused.status, ((await refused.json()) as Json).error]).toEqual([400, expect.anything()]);
    }
  });

  it("says why a key is refused", async () => {
    const made = await postAs(account.key, `${gateway.url}/api/v1/agents`, { label: "a", addresses: ["203.0.113.7"] });
    const { api_key: elsewhere } = (await made.json()) as Json;
    const told = async (authorization: string) => {
      const refused = await post(LIST, { authorization });
      const { error, message } = (await refused.json()) as Json;
      return [refused.status, error, message, refused.headers.get("www-authenticate")];
    };
    expect(await told(`Bearer ${elsewhere}`)).toEqual([403, "address_not_allowed", expect.anything(), null]);
    const notBearer = "The Authorization header is not `Bearer <key>`.";
    expect(await told("Basic abc")).toEqual([401, "invalid_token", notBearer, 'Bearer realm="tollgate"']);
    const unknown = "This key is unknown: it is mistyped or has been revoked.";
    expect(await told("Bearer tg_sk_wrong")).toEqual([401, "invalid_token", unknown, 'Bearer realm="tollgate"']);
  });

  it("is not reached under a name that a page has bound to this machine", async () => {
    const status = (host: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const headers = { host, "content-type": "application/json", accept: "application/json, text/event-stream" };
        const asked = request(`${gateway.url}/mcp`, { method: "POST", headers }, (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        });
        asked.on("error", reject).end(LIST);
      });
    expect(await status("evil.example")).toBe(403);
    expect(await status(new URL(gateway.url).host)).toBe(200);
  });

  it("keeps no stream open on which nothing can ever be told: the list of tools stays as it is", async () => {
    const body = modern("subscriptions/listen", { notifications: { toolsListChanged: true } });
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen" };
    const answer = await post(body, headers);
    expect(await answer.text()).toContain('"resultType":"complete"');
  });

  it("takes no batch: many calls would be counted as one", async () => {
    const refused = await post(` [${LIST},${LIST}]`);
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain("must be one message, not a batch");
  });

  it("looks at no more names than any body may have", async () => {
    const many = Object.fromEntries(Array.from({ length: 30_000 }, (_, at) => [`k${at}`, at]));
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "get_balance", arguments: many } };
    expect((await post(JSON.stringify(body))).status).toBe(400);
  });

  it("a request is counted once, however many calls it makes inside", async () => {
    const statuses = await withinAMinute(async () => {
      const slow = await gateway.account({ kind: "sandbox", requestsPerMinute: 5 });
      const headers = { authorization: `Bearer ${slow.key}` };
      const seen: number[] = [];
      for (let at = 0; at < 6; at++) seen.push((await post(LIST, headers)).status);
      return seen;
    });
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
  });

  it("a caller who leaves ends the call, and is charged what one is that leaves over HTTP", async () => {
    const authorization = `Bearer ${account.key}`;
    const told = async () => {
      const answer = await fetch(`${gateway.url}/api/v1/account`, { headers: { authorization } });
      return (await answer.json()) as { held_cents: number; balance_cents: number };
    };
    const balanceAfterLeaving = async (path: string, body: Json) => {
      const left = new AbortController();
      const headers = {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization,
      };
      const asked = { method: "POST", headers, body: JSON.stringify(body), signal: left.signal };
      const pending = fetch(`${gateway.url}${path}`, asked).catch((error: unknown) => error);
      await eventually(async () => ((await told()).held_cents > 0 ? true : undefined), "the hold");
      left.abort();
      await pending;
      await eventually(async () => ((await told()).held_cents === 0 ? true : undefined), "the end of the hold");
      return (await told()).balance_cents;
    };
    const asked = { model: "sandbox/silent", messages: [{ role: "user", content: "x" }] };
    const before = (await told()).balance_cents;
    const afterHttp = await balanceAfterLeaving("/api/llm/v1/chat/completions", asked);
    const params = { name: "ask_model", arguments: { model: "sandbox/silent", prompt: "x" } };
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    expect(afterHttp - (await balanceAfterLeaving("/mcp", message))).toBe(before - afterHttp);
  });
});

describe("the bridge for clients without HTTP", () => {
  it("passes messages on, with its key, and says what came", async () => {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: ["--disable-warning=ExperimentalWarning", "src/cli/tollgate.ts", "mcp", "--url", gateway.url],
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

describe("a purchase", () => {
  const fax = { to: "+14155550123", file_url: "https://example.com/two-pages.pdf", pages: 2 };
  const byName = { name: "run_action", arguments: { action: "agentfax/send", params: fax } };
  const balance = async () => {
    const response = await getAs(account.key, `${gateway.url}/api/v1/account`);
    return Number(((await response.json()) as Json).balance_cents);
  };

  it.each([
    ["is not made where the person declines", { action: "decline" }],
    ["is not made where the person goes away", { action: "cancel" }],
    [
      "is not made where the person accepts the form and not the purchase",
      { action: "accept", content: { buy: false } },
    ],
  ] as const)("%s", async (_, says) => {
    const before = await balance();
    await connected({ asks: () => says }, async (client) => {
      const result = await client.callTool(byName);
      expect([result.isError, envelopeOf(result).error]).toEqual([true, "purchase_declined"]);
    });
    expect(await balance()).toBe(before);
  });

  it("is made where the person agrees, who is told what it is and what it costs at most", async () => {
    const messages: string[] = [];
    const asks = (message: string) => {
      messages.push(message);
      return { action: "accept", content: { buy: true } } as const;
    };
    const query = "?tools=agentfax/send";
    await connected({ asks, query }, async (client) => {
      const first = await client.callTool(byName);
      expect(envelopeOf(first)).toMatchObject({ ok: true, charged_cents: 40 });
      const pinned = await client.callTool({ name: "agentfax_send", arguments: { ...fax, max_cost_cents: 100 } });
      expect(envelopeOf(pinned)).toMatchObject({ ok: true, charged_cents: 40 });
    });
    expect(messages).toEqual([
      expect.stringMatching(/^Buy by agentfax\/send, for 200 cents at most\? .*14155550123/),
      expect.stringMatching(/^Buy by agentfax\/send, for 100 cents at most\?/),
    ]);
  });

  it("asks nothing of a client that cannot ask, in no revision, and nothing before what buys nothing", async () => {
    for (const [, mode] of MODES)
      await connected({ mode }, async (client) => {
        expect(envelopeOf(await client.callTool(byName))).toMatchObject({ ok: true, charged_cents: 40 });
      });
    const asks = () => {
      throw new Error("nobody is to be asked");
    };
    await connected({ asks }, async (client) => {
      const search = { action: "brave/search", params: { q: "tolls" }, max_cost_cents: 5 };
      const result = await client.callTool({ name: "run_action", arguments: search });
      expect(envelopeOf(result)).toMatchObject({ ok: true });
    });
    // A client of an earlier revision states its capabilities when it connects, and the gateway stores none of them.
    await connected({ asks, mode: "legacy" }, async (client) => {
      expect(envelopeOf(await client.callTool(byName))).toMatchObject({ ok: true, charged_cents: 40 });
    });
  });

  it("that was agreed to is no leave for another", async () => {
    const ask = async (args: Json, more: Json) => {
      const meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
        "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
      };
      const params = { name: "run_action", arguments: args, _meta: meta, ...more };
      const response = await postAs(
        account.key,
        `${gateway.url}/mcp`,
        { jsonrpc: "2.0", id: 1, method: "tools/call", params },
        {
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": "2026-07-28",
          "mcp-method": "tools/call",
          "mcp-name": "run_action",
        },
      );
      const text = await response.text();
      return (JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text) as { result: Json }).result;
    };
    const first = await ask(byName.arguments, {});
    expect(first).toMatchObject({ resultType: "input_required", requestState: expect.any(String) });
    const yes = { purchase: { action: "accept", content: { buy: true } } };
    const more = { inputResponses: yes, requestState: first.requestState };
    const other = { action: "agentfax/send", params: { ...fax, pages: 10 } };
    expect(await ask(other, more)).toMatchObject({ resultType: "input_required" });
    expect(await ask(byName.arguments, { inputResponses: yes })).toMatchObject({ resultType: "input_required" });
    expect(await ask(byName.arguments, more)).toMatchObject({ resultType: "complete" });
  });
});
