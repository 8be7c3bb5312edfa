// Client signals about an answer: the formats the client accepts, and cancellation.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, it, vi } from "vitest";
import { createCancels } from "../../../src/edge/mcp/cancels.ts";
import { forFile } from "../../support/for-file.ts";
import { eventually, startTestGateway, type TestAccount } from "../../support/gateway.ts";

const gateway = forFile(await startTestGateway());

type Json = Record<string, unknown>;
type Asking = (account: TestAccount, left: AbortSignal) => Promise<unknown>;

const TOOL = { name: "ask_model", arguments: { model: "sandbox/silent", prompt: "x" } };
const MODES = ["legacy", "auto", { pin: "2026-07-28" }] as const;

const bearer = ({ key }: TestAccount) => ({ authorization: `Bearer ${key}` });

function post(account: TestAccount, body: Json, headers: Record<string, string> = {}, signal?: AbortSignal) {
  return fetch(`${gateway.url}/mcp`, {
    method: "POST",
    headers: { ...bearer(account), "content-type": "application/json", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", ...body }),
    ...(signal === undefined ? {} : { signal }),
  });
}

async function asked(client: Client, signal: AbortSignal) {
  await client.callTool(TOOL, { signal }).catch((error: unknown) => error);
  // The cancelling message goes out after the call has failed.
  await eventually(async () => (await gateway.doctor()).length === 0 || undefined, "the books");
  await client.close();
}

const overHttp: Asking = async (account, signal) => {
  const body = JSON.stringify({ model: "sandbox/silent", messages: [{ role: "user", content: "x" }] });
  const headers = { ...bearer(account), "content-type": "application/json" };
  const url = `${gateway.url}/api/llm/v1/chat/completions`;
  await fetch(url, { method: "POST", headers, body, signal }).catch((error: unknown) => error);
};

const WAYS: readonly (readonly [string, Asking])[] = [
  ...MODES.map((mode): [string, Asking] => [
    `the official client in mode ${JSON.stringify(mode)}`,
    async (account, signal) => {
      const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
      const requestInit = { headers: bearer(account) };
      await client.connect(new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), { requestInit }));
      await asked(client, signal);
    },
  ]),
  [
    "the bridge over standard input",
    async ({ key }, signal) => {
      const args = ["--disable-warning=ExperimentalWarning", "src/cli/tollgate.ts", "mcp", "--url", gateway.url];
      const env = { PATH: process.env.PATH ?? "", TOLLGATE_API_KEY: key };
      const client = new Client({ name: "test", version: "1" });
      await client.connect(new StdioClientTransport({ command: process.execPath, args, env, stderr: "ignore" }));
      await asked(client, signal);
    },
  ],
  [
    "a client without a session",
    async (account, signal) => {
      const call = post(account, { id: "one", method: "tools/call", params: TOOL });
      const cancelled = Promise.withResolvers<void>();
      signal.addEventListener("abort", () => cancelled.resolve());
      await cancelled.promise;
      const params = { requestId: "one", reason: "not wanted" };
      expect((await post(account, { method: "notifications/cancelled", params })).status).toBe(202);
      await (await call).text();
    },
  ],
];

async function costOfLeaving(asking: Asking): Promise<unknown> {
  const account = await gateway.account({ kind: "sandbox", creditCents: 100_000 });
  const told = async () => (await gateway.admin("GET", `/admin/v1/accounts/${account.accountId}`)).json;
  const left = new AbortController();
  const asked = asking(account, left.signal);
  await eventually(async () => Number((await told()).held_cents) > 0 || undefined, "the hold");
  left.abort();
  await asked;
  await eventually(async () => Number((await told()).held_cents) === 0 || undefined, "the end of the hold", 20_000);
  const listed = await fetch(`${gateway.url}/api/v1/transactions`, { headers: bearer(account) });
  const { transactions } = (await listed.json()) as { transactions: Json[] };
  return transactions[0]?.charged_nano_usd;
}

describe("a call that is cancelled costs what one does that is left over HTTP", () => {
  it.each(WAYS)("by %s", async (_, asking) => {
    const overHttpCost = await costOfLeaving(overHttp);
    expect(overHttpCost).toBeDefined();
    expect(await costOfLeaving(asking)).toBe(overHttpCost);
  });

  it("and no call of another account or session ends with it", async () => {
    const [one, two] = [await gateway.account(), await gateway.account()];
    const left = new AbortController();
    const call = { id: 7, method: "tools/call", params: TOOL };
    const others = [
      post(two, call, {}, left.signal),
      post(one, call, { "mcp-session-id": "another" }, left.signal),
    ].map((answer) => answer.then((response) => response.text()).catch(() => "left"));
    const held = async ({ accountId }: TestAccount) =>
      Number((await gateway.admin("GET", `/admin/v1/accounts/${accountId}`)).json.held_cents) > 0;
    await eventually(async () => ((await held(one)) && (await held(two))) || undefined, "both holds");
    let isOver = false;
    const own = post(one, { ...call, id: 8 })
      .then((response) => response.text())
      .finally(() => {
        isOver = true;
      });
    await post(one, { method: "notifications/cancelled", params: { requestId: 7 } });
    await eventually(async () => {
      await post(one, { method: "notifications/cancelled", params: { requestId: 8 } });
      return isOver || undefined;
    }, "the cancelled call's answer");
    expect([await held(one), await held(two)]).toEqual([true, true]);
    left.abort();
    expect(await Promise.all(others)).toEqual(["left", "left"]);
    await own;
  });
});

it("other processes hear only of ids that a client may use", async () => {
  const tell = vi.fn(async () => {});
  const { take } = await createCancels({ tell, hear: async () => {} });
  const cancel = (requestId: unknown) => take("client", { method: "notifications/cancelled", params: { requestId } });
  for (const id of ["x".repeat(1_000_000), { id: "x".repeat(1_000_000) }, ["x"], null, undefined]) cancel(id);
  expect(tell).toHaveBeenCalledTimes(0);
  for (const id of [7, "seven"]) cancel(id);
  expect(tell).toHaveBeenCalledTimes(2);
});

describe("any Accept is served", () => {
  const MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  };
  const HEADS = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "get_balance" };
  const REVISIONS = { "2025": [{}, {}], "2026": [{ _meta: MODERN }, HEADS] } as const;
  const ACCEPTS: readonly (readonly [string, "json" | "events" | "either"])[] = [
    ["application/json", "json"],
    ["Application/JSON", "json"],
    ["*/*", "json"],
    ["", "json"],
    ["application/*;q=0.8", "json"],
    ["text/event-stream", "events"],
    ["TEXT/Event-Stream;q=0.1", "events"],
    ["application/json;q=0, text/event-stream", "events"],
    ["text/event-stream;q=0, application/json", "json"],
    ["application/json, text/event-stream", "either"],
    ["text/event-stream;q=0.5, */*;q=0.1", "either"],
  ];
  const CASES = Object.entries(REVISIONS).flatMap(([revision, [params, headers]]) =>
    ACCEPTS.map(([accept, form]) => ({ revision, params, headers, accept, form })),
  );

  it.each(CASES)("$revision: $accept gives $form", async ({ params, headers, accept, form }) => {
    const account = await gateway.account();
    for (const _meta of [{}, { progressToken: 1 }]) {
      const of = {
        name: "get_balance",
        arguments: {},
        ...params,
        _meta: { ...("_meta" in params ? params._meta : {}), ..._meta },
      };
      const answer = await post(account, { id: 1, method: "tools/call", params: of }, { ...headers, accept });
      const text = await answer.text();
      const type = answer.headers.get("content-type") ?? "";
      const told = type.startsWith("text/event-stream") ? "events" : "json";
      expect([answer.status, form === "either" ? "either" : told]).toEqual([200, form]);
      const json = told === "json" ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? "");
      expect(JSON.parse(json)).toMatchObject({ id: 1, result: { structuredContent: { balance_cents: 1_000 } } });
    }
  });
});

describe.each(MODES)("a job, in mode %j", (mode) => {
  it("is launched, followed to its end, asked for again, and cancelled", async () => {
    const account = await gateway.account({ creditCents: 10_000 });
    const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
    const requestInit = { headers: bearer(account) };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), { requestInit }));
    const run = async (action: string, params: Json) => {
      const { structuredContent } = await client.callTool({ name: "run_action", arguments: { action, params } });
      return (structuredContent as { data: Json }).data;
    };
    const job = { urls: ["https://example.com/a"], budgetCents: 50 };
    const { job_id } = await run("core/onescrape-deep", job);
    for (const _ of ["while it runs", "when it is over"]) {
      const told: Json[] = [];
      const asked = { name: "get_result", arguments: { job_id, wait_seconds: 50 } };
      const { structuredContent } = await client.callTool(asked, { onprogress: (one) => void told.push({ ...one }) });
      expect(structuredContent).toMatchObject({ data: { status: "succeeded" } });
      // Above 1 where the job was seen to run with its only page done, since progress must always increase.
      expect(told.at(-1)).toMatchObject({ progress: expect.closeTo(1, 1), total: 1, message: "succeeded" });
    }
    const cancelled = await run("core/cancel", { job_id: (await run("core/onescrape-deep", job)).job_id });
    expect(cancelled).toMatchObject({ cancelled: true });
    expect(await run("core/cancel", { job_id })).toMatchObject({ status: "succeeded" });
    await client.close();
  });
});
