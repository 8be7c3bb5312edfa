// Runs as callers of a real gateway experience them: a budget over models and actions, however the run is named.
import { describe, expect, test } from "vitest";
import { forFile } from "../support/for-file.ts";
import { startTestGateway, type TestAccount } from "../support/gateway.ts";
import { postAs, sendAs } from "../support/keyed-fetch.ts";

const gateway = forFile(await startTestGateway());

type Json = Record<string, unknown>;
type Headers = Record<string, string>;

async function own(key: string, method: string, path: string, body?: unknown) {
  const response = await sendAs(key, method, `${gateway.url}${path}`, body);
  return { status: response.status, json: (await response.json()) as Json };
}

async function post(key: string, path: string, body: Json, headers: Headers = {}) {
  const response = await postAs(key, `${gateway.url}${path}`, body, headers);
  const text = await response.text();
  const json = (text.startsWith("{") ? JSON.parse(text) : {}) as Json;
  return { status: response.status, headers: response.headers, text, json };
}

const CHAT = { model: "core/best", max_tokens: 500, messages: [{ role: "user", content: "say this" }] };
const chat = (key: string, headers: Headers = {}, more: Json = {}) =>
  post(key, "/api/llm/v1/chat/completions", { ...CHAT, ...more }, headers);

const run = async ({ key }: TestAccount, id: string) => (await own(key, "GET", `/api/v1/runs/${id}`)).json;
const opened = async ({ key }: TestAccount, body: Json = {}) =>
  own(key, "POST", "/api/v1/runs", { budget_cents: 500, ...body });
const code = ({ json: { error } }: { json: Json }) =>
  typeof error === "string" ? error : (error as Json | undefined)?.code;
/** Costs 2 to 3 cents. */
const LONG = { max_tokens: 100, messages: [{ role: "user", content: "say ".repeat(10_000) }] };
const charges = async ({ key }: TestAccount) =>
  ((await own(key, "GET", "/api/v1/transactions")).json.transactions as Json[]).filter(({ kind }) => kind === "charge");

describe("naming a run", () => {
  test("a header opens a run once with its budget, and each answer says what is left", async () => {
    const account = await gateway.account();
    const headers = { "x-tollgate-run": "nightly:1", "x-tollgate-run-budget-cents": "500" };
    const first = await chat(account.key, headers);
    expect(first.status).toBe(200);
    const left = Number(first.headers.get("x-tollgate-run-remaining-usd"));
    expect(left).toBeLessThan(5);
    const shown = await run(account, "nightly:1");
    expect(shown).toMatchObject({ budget_cents: 500, status: "open", parent: null, children: [], held_nano_usd: 0 });
    expect(Number(shown.spent_nano_usd)).toBe(Math.round((5 - left) * 1e9));
    expect((await chat(account.key, { "x-tollgate-run": "nightly:1" })).status).toBe(200);
    expect((await chat(account.key, headers)).status).toBe(200);
    const raised = await chat(account.key, { ...headers, "x-tollgate-run-budget-cents": "900" });
    expect([raised.status, code(raised)]).toEqual([409, "run_exists"]);
    expect(await charges(account)).toHaveLength(3);
  });

  test("a key can carry its run, in a header or as the bare plus of a query", async () => {
    const account = await gateway.account();
    await opened(account, { id: "carried" });
    const key = `${account.key}+carried`;
    expect((await chat(key)).headers.get("x-tollgate-run-remaining-usd")).not.toBeNull();
    const asked = { contents: [{ role: "user", parts: [{ text: "hello" }] }] };
    const gemini = await fetch(`${gateway.url}/v1beta/models/core%2Fbest:generateContent?key=${key}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(asked),
    });
    expect([gemini.status, gemini.headers.get("x-tollgate-run-remaining-usd")]).toEqual([200, expect.any(String)]);
    expect(code(await chat(`${account.key}+unknown`))).toBe("not_found");
    expect((await chat(`${account.key}+od,d`)).status).toBe(400);
  });

  test("the body's metadata names a run, and no vendor sees it", async () => {
    const account = await gateway.account();
    await opened(account, { id: "in-body" });
    const answer = await chat(account.key, {}, { metadata: { tollgate_run: "in-body" } });
    expect([answer.status, answer.headers.get("x-tollgate-run-remaining-usd")]).toEqual([200, expect.any(String)]);
    const { json } = await own(account.key, "GET", "/api/v1/transactions");
    expect(JSON.stringify(json)).not.toContain("tollgate_run");
    const unknown = await chat(account.key, {}, { metadata: { tollgate_run: "none" } });
    expect(unknown.status).toBe(404);
    expect((await chat(account.key, {}, { metadata: { tollgate_run: 7 } })).status).toBe(400);
  });

  test("wrong names are refused before anything is held, and never fall back to no budget", async () => {
    const account = await gateway.account();
    const other = await gateway.account();
    await opened(other, { id: "foreign" });
    await opened(account, { id: "one" });
    await opened(account, { id: "two" });
    const status = async (headers: Headers, key = account.key, more: Json = {}) =>
      (await chat(key, headers, more)).status;
    expect(await status({ "x-tollgate-run": "foreign" })).toBe(404);
    expect(await status({ "x-tollgate-run": "never" })).toBe(404);
    expect(await status({ "x-tollgate-run": "a b" })).toBe(400);
    expect(await status({ "x-tollgate-run-budget-cents": "5" })).toBe(400);
    for (const cents of ["-5", "0", "1.5", "five", ""])
      expect(await status({ "x-tollgate-run": "bad", "x-tollgate-run-budget-cents": cents }), cents).toBe(400);
    expect(await status({ "x-tollgate-run": "one" }, `${account.key}+two`)).toBe(400);
    expect(await status({ "x-tollgate-run": "one" }, account.key, { metadata: { tollgate_run: "two" } })).toBe(400);
    expect(
      await status({ "x-tollgate-run": "self", "x-tollgate-run-budget-cents": "5", "x-tollgate-run-parent": "self" }),
    ).toBe(400);
    expect(await charges(account)).toEqual([]);
    expect((await own(account.key, "GET", "/api/v1/account")).json).toMatchObject({ held_cents: 0 });
    for (const budget of [undefined, -1, 0.5, "5", 0])
      expect((await own(account.key, "POST", "/api/v1/runs", { budget_cents: budget })).status).toBe(400);
  });

  test("sessions that name themselves are runs of a key with a session budget", async () => {
    const account = await gateway.account();
    const made = await own(account.key, "POST", "/api/v1/agents", { session_budget_cents: 3 });
    const key = String(made.json.api_key);
    expect(made.json).toMatchObject({ session_budget_cents: 3, run_required: null });
    const session = { "x-claude-code-session-id": "0b6f0d9e-3c1b-4d6f-9b6e-000000000001" };
    const statuses = [];
    for (let at = 0; at < 2; at++) statuses.push((await chat(key, session, LONG)).status);
    expect(statuses).toEqual([200, 402]);
    expect((await chat(key, { session_id: "another" }, { max_tokens: 100 })).status).toBe(200);
    const inBody = await post(key, "/v1/messages", {
      ...CHAT,
      max_tokens: 50,
      metadata: { user_id: "user_a_session_b-1" },
    });
    expect([inBody.status, inBody.headers.get("x-tollgate-run-remaining-usd")]).toEqual([200, expect.any(String)]);
    expect(
      (await chat(key, {}, { prompt_cache_key: "k", max_tokens: 50 })).headers.has("x-tollgate-run-remaining-usd"),
    ).toBe(false);
  });

  test("a key may require a run", async () => {
    const account = await gateway.account();
    const { json } = await own(account.key, "POST", "/api/v1/agents", { run_required: true });
    const key = String(json.api_key);
    expect(code(await chat(key))).toBe("run_required");
    expect((await chat(key, { "x-tollgate-run": "r", "x-tollgate-run-budget-cents": "50" })).status).toBe(200);
  });
});

describe("a run's budget", () => {
  test("bounds calls of every format and actions together, whatever comes at once", async () => {
    const account = await gateway.account({ creditCents: 100_000 });
    await opened(account, { id: "race", budget_cents: 20 });
    const headers = { "x-tollgate-run": "race" };
    const calls = Array.from({ length: 128 }, (_, at) => [
      () => chat(account.key, headers),
      () => post(account.key, "/v1/messages", { ...CHAT, max_tokens: 500 }, headers),
      () =>
        post(account.key, "/v1/responses", { model: "core/best", max_output_tokens: 500, input: `say ${at}` }, headers),
      () => post(account.key, "/api/run/core/onesearch", { query: `words ${at}` }, headers),
    ]).flat();
    const answers = await Promise.all(calls.map((call) => call()));
    const statuses = new Set(answers.map(({ status }) => status));
    expect([...statuses].sort()).toEqual([200, 402]);
    const shown = await run(account, "race");
    expect(shown.held_nano_usd).toBe(0);
    expect(Number(shown.spent_nano_usd)).toBeLessThanOrEqual(20 * 10_000_000);
    const refused = answers.find((answer) => code(answer) === "run_budget_exceeded");
    expect(refused?.headers.get("x-should-retry")).toBe("false");
    expect(await gateway.doctor()).toEqual([]);
  });

  test("its refusal says what was spent and what would fit", async () => {
    const account = await gateway.account();
    await opened(account, { id: "small", budget_cents: 1 });
    const answer = await chat(account.key, { "x-tollgate-run": "small" }, { max_tokens: 16_000 });
    expect([answer.status, answer.headers.get("x-should-retry")]).toEqual([402, "false"]);
    expect((answer.json.error as Json).metadata).toMatchObject({
      ...{ run_id: "small", budget_usd: "0.01", spent_usd: expect.any(String) },
      affordable_output_tokens: expect.any(Number),
    });
    const fits = await post(
      account.key,
      "/v1/messages",
      { ...CHAT, max_tokens: 16_000 },
      { "x-tollgate-run": "small" },
    );
    expect(fits.status).toBe(200);
  });

  test("a child is bounded by its own budget and by every ancestor", async () => {
    const account = await gateway.account();
    await opened(account, { id: "p", budget_cents: 3 });
    await opened(account, { id: "c", parent: "p" });
    const statuses = [];
    for (let at = 0; at < 2; at++) statuses.push((await chat(account.key, { "x-tollgate-run": "c" }, LONG)).status);
    expect(statuses).toEqual([200, 402]);
    expect(await run(account, "p")).toMatchObject({
      children: [{ id: "c" }],
      spent_nano_usd: (await run(account, "c")).spent_nano_usd,
    });
    for (let depth = 2, parent = "c"; depth < 8; depth++) {
      expect((await opened(account, { id: `d${depth}`, parent })).status).toBe(201);
      parent = `d${depth}`;
    }
    expect((await opened(account, { id: "d8", parent: "d7" })).status).toBe(400);
    expect(await gateway.doctor()).toEqual([]);
  });
});

test("a caller of MCP is told its run's balance, and its tools spend from it", async () => {
  const account = await gateway.account();
  await opened(account, { id: "mcp" });
  const call = async (name: string, args: Json) => {
    const asked = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } };
    const accept = "application/json, text/event-stream";
    return (await post(`${account.key}+mcp`, "/mcp", asked, { accept, "mcp-protocol-version": "2025-11-25" })).text;
  };
  await call("run_action", { action: "brave/search", params: { q: "runs" } });
  const spent = Number((await run(account, "mcp")).spent_nano_usd);
  expect(spent).toBeGreaterThan(0);
  expect(await call("get_balance", {})).toContain(String(spent));
});

describe("who may change a run", () => {
  test("a credential that carries a run opens children and stops it, and never changes its budget", async () => {
    const account = await gateway.account();
    await opened(account, { id: "main" });
    const key = `${account.key}+main`;
    expect((await own(key, "PATCH", "/api/v1/runs/main", { budget_cents: 900 })).status).toBe(403);
    expect((await own(key, "POST", "/api/v1/runs", { id: "sub", budget_cents: 10 })).json).toMatchObject({
      parent: "main",
    });
    const outside = await own(key, "POST", "/api/v1/runs", { id: "out", budget_cents: 10, parent: null });
    expect(outside.json).toMatchObject({ id: "out", parent: "main" });
    const child = { "x-tollgate-run": "sub2", "x-tollgate-run-budget-cents": "10", "x-tollgate-run-parent": "main" };
    expect((await chat(key, child)).status).toBe(200);
    expect((await own(key, "PATCH", "/api/v1/runs/sub", { budget_cents: 20 })).status).toBe(200);
    expect((await own(key, "POST", "/api/v1/runs/main/stop")).json).toMatchObject({ status: "stopped", stopped: true });
    expect(await run(account, "sub")).toMatchObject({ status: "stopped" });
  });

  test("agent keys know the runs that they opened, within their ceiling", async () => {
    const account = await gateway.account();
    const { json } = await own(account.key, "POST", "/api/v1/agents", { ceiling_cents: 100, ceiling_period: "day" });
    const key = String(json.api_key);
    await opened(account, { id: "not-mine" });
    expect((await own(key, "POST", "/api/v1/runs", { id: "mine", budget_cents: 101 })).status).toBe(400);
    expect((await own(key, "POST", "/api/v1/runs", { id: "mine", budget_cents: 100 })).status).toBe(201);
    expect((await own(key, "GET", "/api/v1/runs/not-mine")).status).toBe(404);
    expect((await own(key, "GET", "/api/v1/runs")).json.runs).toMatchObject([{ id: "mine" }]);
    expect((await own(account.key, "GET", "/api/v1/runs")).json.runs).toHaveLength(2);
    expect(code(await own(key, "POST", "/api/v1/runs", { budget_cents: 5, key: true }))).toBe("key_cannot_mint_keys");
  });

  test("the primary key makes a run with a key of its own, which expires with it", async () => {
    const account = await gateway.account();
    const made = await opened(account, { id: "bound", key: true });
    expect(made.status).toBe(201);
    const bound = made.json.key as Json;
    expect(bound).toMatchObject({ run: "bound", expires_at: made.json.expires_at });
    const key = String(bound.api_key);
    expect((await chat(key)).headers.get("x-tollgate-run-remaining-usd")).not.toBeNull();
    expect((await chat(key, { "x-tollgate-run": "other", "x-tollgate-run-budget-cents": "5" })).status).toBe(400);
    expect((await own(key, "PATCH", "/api/v1/runs/bound", { budget_cents: 900 })).status).toBe(403);
    await own(key, "POST", "/api/v1/runs", { id: "below", budget_cents: 50 });
    await opened(account, { id: "beside" });
    const carried = async (id: string) => (await chat(`${key}+${id}`)).status;
    expect([await carried("below"), await carried("beside"), await carried("..")]).toEqual([200, 400, 400]);
  });

  test("a budget below what is spent stops the run", async () => {
    const account = await gateway.account();
    await opened(account, { id: "lowered" });
    await chat(account.key, { "x-tollgate-run": "lowered" }, LONG);
    const { json } = await own(account.key, "PATCH", "/api/v1/runs/lowered", { budget_cents: 1 });
    expect(json).toMatchObject({ status: "stopped" });
  });

  test("operators list, show and stop runs", async () => {
    const account = await gateway.account();
    await opened(account, { id: "op" });
    const below = `/admin/v1/accounts/${account.accountId}/runs`;
    expect((await gateway.admin("GET", below)).json.runs).toMatchObject([{ id: "op" }]);
    expect((await gateway.admin("POST", `${below}/op/stop`)).json).toMatchObject({ status: "stopped" });
    expect(code(await chat(account.key, { "x-tollgate-run": "op" }))).toBe("run_stopped");
  });
});
