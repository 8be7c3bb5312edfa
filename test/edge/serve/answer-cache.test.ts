// Cached answers: what a caller sees of a hit, what it costs, and what is never stored or shared between accounts.
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { beforeEach, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import type { GatewayRequest } from "../../../src/core/endpoint.ts";
import type { Caller } from "../../../src/core/plan.ts";
import { AnswerCache, cacheOrder, freeAnswer } from "../../../src/edge/serve/cached-answers.ts";
import { idempotencyOf } from "../../../src/models/formats/idempotency-key.ts";
import { parseJson } from "../../../src/models/formats/parse-json.ts";
import { RECORDS_UNIT, sqliteRecords } from "../../../src/platform/records/sqlite-records.ts";
import { openSqliteThread } from "../../../src/platform/storage/sqlite-thread.ts";
import { folderForFile, forFile } from "../../support/for-file.ts";
import { eventually, startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";

type Json = Record<string, unknown>;

const MIB = 1024 * 1024;

const folder = folderForFile("tollgate-answers-");
let question = 0;
const gateway = forFile(await startTestGateway());
const account = await gateway.account();
const onFatal = (error: unknown) => console.error(error);
const file = join(folder, "records.db");
const units = { records: RECORDS_UNIT };
const thread = forFile(await openSqliteThread({ file, units, clock: systemClock, sharing: "readers", onFatal }));
const records = sqliteRecords(thread);
beforeEach(() => {
  question += 1;
});

interface Asking {
  readonly key?: string;
  readonly path?: string;
  readonly cache?: string;
  readonly at?: TestGateway;
  readonly body?: Json;
}

async function ask({
  key = account.key,
  path = "chat/completions",
  cache = "60",
  body = {},
  at = gateway,
}: Asking = {}) {
  const response = await fetch(`${at.url}/api/llm/v1/${path}`, {
    method: "POST",
    headers: {
      ...{ authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(cache === "" ? {} : { "x-tollgate-cache": cache }),
    },
    body: JSON.stringify({
      ...{ model: "core/cheap", max_tokens: 60 },
      messages: [{ role: "user", content: `Question ${question}` }],
      ...body,
    }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, told: response.headers.get("x-tollgate-cache"), text };
}

const spent = async () => {
  const { json } = await gateway.admin("GET", `/admin/v1/accounts/${account.accountId}`);
  return [json.spent_cents, json.held_cents, json.balance_cents];
};
const postings = async () => {
  const { json } = await gateway.admin("GET", `/admin/v1/transactions?account=${account.accountId}&limit=1000`);
  return (json.transactions as Json[]).filter(({ kind }) => kind === "charge").length;
};

it("a question that is asked again is answered alike, costs nothing and says so, whatever the order of its fields", async () => {
  const first = await ask();
  expect([first.status, first.told]).toEqual([200, "miss"]);
  const before = [await spent(), await postings()];
  const again = await ask({ body: { max_tokens: 60, model: "core/cheap" } });
  expect([again.status, again.told]).toEqual([200, "hit"]);
  const [one, other] = [JSON.parse(first.text), JSON.parse(again.text)];
  expect(one.usage.cost).toBeGreaterThan(0);
  expect(other).toEqual({ ...one, usage: { ...one.usage, cost: 0 } });
  expect(again.headers.get("x-tollgate-cost-usd")).toBe("0");
  expect(again.headers.get("x-tollgate-model")).toBe(first.headers.get("x-tollgate-model"));
  expect([await spent(), await postings()]).toEqual(before);
  const record = await gateway.record(again.headers.get("x-request-id"));
  expect(record).toMatchObject({ outcome: "replayed", status: 200 });
});

it.each([
  ["chat/completions", { stream: true, stream_options: { include_usage: true } }],
  ["messages", { stream: true }],
  ["responses", { stream: true, input: "Hello", messages: undefined }],
])("a stream of %s is told again as a stream, with its end, at no cost", async (path, body) => {
  const first = await ask({ path, body });
  const again = await ask({ path, body });
  expect([first.told, again.told, again.status]).toEqual(["miss", "hit", 200]);
  expect(again.headers.get("content-type")).toMatch(/^text\/event-stream/);
  const plain = (text: string) => text.replace(/"cost":[0-9.e-]+/g, '"cost":0');
  expect(again.text).toBe(plain(first.text));
  expect(again.text).not.toBe(first.text);
});

it("a question is another where only the digits of a call's arguments differ, also under an Idempotency-Key", () => {
  const idsOf = (input: string) => {
    const body = Buffer.from(`{"messages":[{"content":[{"type":"tool_use","input":${input}}]}]}`);
    const headers = new Map([["x-tollgate-cache", "60"]]);
    const request = { path: "/p", headers, query: new URLSearchParams(), body } as unknown as GatewayRequest;
    const order = cacheOrder(request, { payer: { id: "payer" } } as unknown as Caller, false);
    const kept = idempotencyOf({ path: "/p", headers: new Map([["idempotency-key", "k"]]) }, parseJson(body));
    return [order, kept].map((one) => one !== null && ("id" in one ? one.id : "fingerprint" in one && one.fingerprint));
  };
  const one = idsOf('{"a":9007199254740993,"b":1.0}');
  expect(idsOf('{"b":1.0, "a":9007199254740993}')).toEqual(one);
  for (const other of ['{"a":9007199254740992,"b":1.0}', '{"a":9007199254740993,"b":1}'])
    for (const [at, id] of idsOf(other).entries()) expect(id).not.toBe(one[at]);
});

it("is one account's, and of a key that may call what was asked", async () => {
  await ask();
  const other = await gateway.account();
  expect((await ask({ key: other.key })).told).toBe("miss");
  const made = await postAs(account.key, `${gateway.url}/api/v1/agents`, { models: ["core/mid"] });
  const { api_key } = (await made.json()) as { api_key: string };
  expect((await ask({ key: api_key })).status).toBe(403);
});

it("another question, one that is asked without it, and one whose time is over are answered anew", async () => {
  await ask({ cache: "1" });
  expect((await ask({ body: { temperature: 0.5 } })).told).toBe("miss");
  expect((await ask({ cache: "" })).told).toBeNull();
  expect((await ask({ cache: "0" })).told).toBeNull();
  await eventually(async () => ((await ask({ cache: "1" })).told === "miss" ? true : undefined), "the end of its time");
});

it.each([
  ["a stream that is cut", { model: "sandbox/cut-after-3", stream: true }],
  ["a failure", { model: "sandbox/503" }],
])("%s is not kept", async (_, body) => {
  await ask({ body });
  expect((await ask({ body })).told).not.toBe("hit");
});

it("the same question asked many times at once is asked of the vendor once", async () => {
  const body = { stream: true, max_tokens: 200 };
  const before = await postings();
  const all = await Promise.all(Array.from({ length: 12 }, () => ask({ body })));
  expect(all.map(({ told }) => told).sort()).toEqual([...Array.from({ length: 11 }, () => "hit"), "miss"]);
  expect(await postings()).toBe(before + 1);
});

it("a key can have it for all its calls, and a request that says otherwise has it otherwise", async () => {
  const made = await gateway.admin("POST", `/admin/v1/accounts/${account.accountId}/keys`, { cache_seconds: 60 });
  expect(made.json).toMatchObject({ cache_seconds: 60 });
  const key = String(made.json.api_key);
  expect((await ask({ key, cache: "" })).told).toBe("miss");
  expect((await ask({ key, cache: "" })).told).toBe("hit");
  expect((await ask({ key, cache: "0" })).told).toBeNull();
  await gateway.admin("PATCH", `/admin/v1/accounts/${account.accountId}/keys/${made.json.id}`, { paused: true });
  expect((await ask({ key, cache: "" })).status).toBe(403);
});

it.each(["soon", "-1", "86401", "1.5"])("%s is no number of seconds", async (cache) => {
  const { status, text } = await ask({ cache });
  expect([status, text]).toEqual([400, expect.stringContaining("x-tollgate-cache")]);
});

it("what it cost is told as nothing, and every other number as it was", () => {
  const answer = (usage: string) => `{"id": "x", "n":12345678901234567890, "usage" : {"a":1.10,"cost": ${usage}}}`;
  expect(freeAnswer("application/json", answer("0.25"))).toBe(answer("0"));
  const echoed =
    '{"response":{"tools":[{"cost":5,"usage":{"cost":6}}],"text":"\\"cost\\":7","usage":{"cost":1e-7},"big":1E400}}';
  expect(freeAnswer("text/event-stream", `data: ${echoed}\n\ndata: [DONE]\n`)).toBe(
    `data: ${echoed.replace("1e-7", "0")}\n\ndata: [DONE]\n`,
  );
});

const MADE = { form: "", usage: null, legs: [] };

it("of those who wait for an answer that fails, one asks at a time, and all have the one that is good", async () => {
  const order = { id: "one", form: "", payer: "acct:one", seconds: 60 };
  const cache = new AnswerCache({ records, bytesMax: 16 * MIB, epochMs: Date.now });
  const answer = { headers: {}, text: "{}", keptAtMs: 0, ...MADE };
  const asked: unknown[] = [];
  const waiting = Array.from({ length: 5 }, async () => {
    const entered = await cache.enter(order);
    if (typeof entered !== "function") return entered;
    asked.push("asks");
    await setImmediate();
    asked.push("failed");
    entered(asked.length < 4 ? null : answer);
    return "asked";
  });
  expect(await Promise.all(waiting)).toEqual(["asked", "asked", answer, answer, answer]);
  expect(asked).toEqual(["asks", "failed", "asks", "failed"]);
});

it("all accounts have so much together, and each a sixteenth of it, of which the oldest leave", async () => {
  const cache = new AnswerCache({ records, bytesMax: MIB, epochMs: Date.now });
  const text = "x".repeat(MIB / 64 - 1_024);
  const order = (account: number, at: number) => ({
    id: `${account} ${at}`,
    form: "",
    payer: `acct:${account}`,
    seconds: 60 + at,
  });
  const keep = (account: number, at: number) =>
    cache.keep(order(account, at), { headers: {}, text, keptAtMs: 0, ...MADE });
  const kept = async (orders: ReturnType<typeof order>[]) =>
    (await Promise.all(orders.map((one) => cache.find(one)))).map((one) => one !== null);
  for (let at = 0; at < 5; at++) await keep(0, at);
  expect(await kept([0, 1, 2, 3, 4].map((at) => order(0, at)))).toEqual([false, true, true, true, true]);
  const all = Array.from({ length: 100 }, (_, account) => order(account + 1, 0));
  for (const { payer } of all) await keep(Number(payer.slice("acct:".length)), 0);
  expect((await kept(all)).filter((is) => is).length).toBeLessThanOrEqual(64);
});

it("a call whose model acts is answered by an earlier one only where the call itself says so", async () => {
  const made = await gateway.admin("POST", `/admin/v1/accounts/${account.accountId}/keys`, { cache_seconds: 60 });
  const key = String(made.json.api_key);
  const body = { tools: [{ type: "action", action: "brave/search" }] };
  await ask({ key, body });
  expect((await ask({ key, body, cache: "" })).told).toBeNull();
  expect((await ask({ key, body })).told).toBe("hit");
});

it("where the operator has none kept, every call is made", async () => {
  const none = await startTestGateway({ ANSWER_CACHE_MIB: "0" });
  const { key } = await none.account();
  const asked = () => ask({ key, at: none });
  expect([(await asked()).told, (await asked()).told]).toEqual([null, null]);
  await none.stop();
});
