// Long results and clients that do not read them: their memory, their effect on others, and that all of it is freed.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import type { JobKind } from "../../src/catalog/job-kind.ts";
import { launched, localAction } from "../../src/catalog/local-action.ts";
import { ZERO } from "../../src/core/money.ts";
import { createJobRows } from "../../src/platform/records/job-rows.ts";
import type { PutRecord } from "../../src/platform/records/records.ts";
import { callerOf } from "../actions/files/calling.ts";
import { type AcmeGateway, startAcmeGateway } from "../actions/run/acme-gateway.ts";
import { type RawClient, rawClient, request } from "../edge/http/edge.ts";
import { eventually, standstill, type TestAccount } from "../support/gateway.ts";

const MIB = 1_048_576;
const ROWS = 50;
const row = (at: number, chars: number) => ({ at, "2": "ü 漢", content: randomBytes(chars / 2).toString("hex") });
/** As long as fifty long pages. */
const LONG_ROWS = Array.from({ length: ROWS }, (_, at) => row(at, 540_000));
const SHORT_ROWS = [row(0, 20), row(1, 20)];

const core = {
  service: "core",
  category: "core",
  effect: "read",
  params: z.strictObject({ rows: z.string() }),
} as const;
const pages = localAction({
  ...core,
  action: "pages",
  description: "Keeps rows.",
  price: { mode: "capped", cents: 1 },
  launches: { job: "pages", inFlightMax: 3 },
  run: (_, call) => launched(call),
  example: { params: { rows: "short" } },
});
const long = localAction({
  ...core,
  action: "long",
  description: "Answers at length.",
  price: { mode: "fixed", cents: 0 },
  run: () => "x".repeat(8 * MIB),
  example: { params: { rows: "" } },
});

let gateway: AcmeGateway;
let account: TestAccount;
/** Stores a record where the gateway's own thread stores them. */
async function put({ kind, id, payer, value, ttlMs }: PutRecord): Promise<number> {
  const database = new DatabaseSync(join(gateway.dataDir, "tollgate.db"), { timeout: 20_000 });
  const columns = "kind, id, payer, version, value, created_at, expires_at";
  const sql = `INSERT INTO record (${columns}) VALUES (?, ?, ?, 1, ?, ?, ?)`;
  database.prepare(sql).run(kind, id, payer, value, Date.now(), Date.now() + (ttlMs ?? 0));
  database.close();
  return 1;
}
const kind: JobKind = {
  name: "pages",
  msMax: 60_000,
  counted: "price",
  async run(job) {
    const rows = createJobRows({ put, get: async () => null, sizes: async () => [] }, 1e9);
    const { rows: which } = job.start as { rows: string };
    const names: string[] = [];
    for (const one of which === "long" ? LONG_ROWS : SHORT_ROWS) names.push(await rows.put(job.payer.id, one));
    if (which === "lost") names.push("none");
    const none = which === "none" ? [] : names;
    return { status: "succeeded", result: { rows: "?", url_count: none.length }, rows: none, chargeNano: ZERO };
  },
};

beforeAll(async () => {
  gateway = await startAcmeGateway({ ACCOUNT_ANSWERS_MIB: "33" }, { actions: [pages, long], jobKinds: [kind] });
  gateway.vendor.answers({ body: { results: ["a"] } });
  account = await gateway.live({ creditCents: 100 });
});
afterAll(async () => {
  expect(await waitingBytes()).toBe(0);
  await gateway.stop();
});

async function waitingBytes(): Promise<number> {
  return Number(/^tollgate_answers_waiting_bytes (\S+)$/m.exec(await gateway.metricsText())?.[1]);
}

const ask = (job_id: string, of = account) => gateway.run(of, "core/result", { job_id });
async function launch(rows: string): Promise<string> {
  const { json } = await gateway.run(account, "core/pages", { rows });
  const { job_id } = json.data as { job_id: string };
  const running = async () => (await gateway.metricsText()).includes("\ntollgate_jobs_running 0");
  await eventually(async () => ((await running()) ? true : undefined), "the end of the job");
  return job_id;
}

function told(job_id: string, rows: readonly unknown[]): string {
  const data = { job_id, status: "succeeded", result: { rows, url_count: rows.length }, charged_cents: 0 };
  return JSON.stringify({ ok: true, data, charged_cents: 0, balance_remaining_cents: 100 });
}

/** Sends a request and reads nothing of the answer. */
async function unreadAnswer(line: string, headers: readonly string[] = [], body = "") {
  const client = await rawClient(Number(new URL(gateway.url).port));
  client.socket.pause();
  client.send(request(line, headers, body));
  return client;
}

function unread(action: string, params: unknown) {
  const body = JSON.stringify(params);
  const type = ["content-type: application/json", `content-length: ${body.length}`];
  return unreadAnswer(`POST /api/run/${action}`, [`authorization: Bearer ${account.key}`, ...type], body);
}

/** The clients have left, and all memory of their answers is freed. */
async function allLeave(clients: readonly RawClient[]): Promise<void> {
  for (const { socket } of clients) socket.destroy();
  await eventually(async () => ((await waitingBytes()) === 0 ? true : undefined), "all to be given back");
}

describe("a result of 27 MB", () => {
  let id = "";
  beforeAll(async () => {
    id = await launch("long");
  });

  it("comes whole, and as it always did, to a client that reads slowly but steadily", async () => {
    const expected = told(id, LONG_ROWS);
    const body = JSON.stringify({ job_id: id });
    const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
    const asked = http.request(`${gateway.url}/api/run/core/result`, { method: "POST", headers, agent: false });
    asked.end(body);
    const [response] = (await once(asked, "response")) as [http.IncomingMessage];
    const parts: Buffer[] = [];
    let unpaused = 0;
    for await (const part of response) {
      parts.push(part);
      unpaused += part.length;
      if (unpaused < MIB) continue;
      unpaused = 0;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const text = Buffer.concat(parts).toString();
    expect(text.length).toBe(expected.length);
    expect(text === expected).toBe(true);
    expect(response.headers["content-type"]).toBe("application/json");
    expect(response.headers["x-tollgate-attempts"]).toBe("1");
  });

  it("is kept once for sixty clients that do not read it, and not at all when they have left", async () => {
    const before = process.memoryUsage.rss();
    const clients = await Promise.all(Array.from({ length: 60 }, () => unread("core/result", { job_id: id })));
    const bytes = await standstill(waitingBytes, "all of them to stand still");
    expect(bytes).toBeLessThan(8 * MIB);
    expect(process.memoryUsage.rss() - before).toBeLessThan(300 * MIB);
    const other = await gateway.live({ creditCents: 100 });
    const search = await gateway.run(other, "acme/search", { q: "tea" });
    expect(search.status).toBe(200);
    await allLeave(clients);
  });

  it("is nobody else's", async () => {
    const answer = await ask(id, await gateway.live());
    expect([answer.status, answer.json.error]).toEqual([404, "not_found"]);
  });
});

it.each([
  ["short", SHORT_ROWS],
  ["none", []],
])("a short result (%s) comes with its length, as it always did", async (which, rows) => {
  const id = await launch(which);
  const { text, headers } = await ask(id);
  expect(text).toBe(told(id, rows));
  expect(headers.get("content-length")).toBe(String(Buffer.byteLength(text)));
});

it("a result of which a row has left is 404", async () => {
  const answer = await ask(await launch("lost"));
  expect([answer.status, answer.json.error]).toEqual([404, "not_found"]);
});

it("an account whose unread answers fill its room is told 503, until it has let them go; others are not", async () => {
  const other = await gateway.live({ creditCents: 100 });
  const clients = await Promise.all(Array.from({ length: 4 }, () => unread("core/long", { rows: "" })));
  onTestFinished(() => {
    for (const { socket } of clients) socket.destroy();
  });
  await eventually(async () => ((await waitingBytes()) >= 32 * MIB ? true : undefined), "four answers that wait");
  const refused = await gateway.run(account, "core/long", { rows: "" });
  expect([refused.status, refused.json.error]).toEqual([503, "answers_in_flight"]);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  expect((await gateway.run(other, "acme/search", { q: "tea" })).status).toBe(200);
  await allLeave(clients);
  expect((await gateway.run(account, "acme/search", { q: "tea" })).status).toBe(200);
});

it("a file that sixty clients ask for, whole or in part, and do not read takes little", async () => {
  const file = randomBytes(20 * MIB).toString("latin1");
  const { get_url } = await callerOf(gateway, account).store({ filename: "long.bin" }, file);
  const { pathname, search } = new URL(get_url);
  const range = (at: number) => (at % 2 === 0 ? [] : [`range: bytes=${at}-`]);
  const asked = Array.from({ length: 60 }, (_, at) => unreadAnswer(`GET ${pathname}${search}`, range(at)));
  const clients = await Promise.all(asked);
  const read = () => clients.reduce((sum, { socket }) => sum + socket.bytesRead, 0);
  await standstill(async () => read() + (await waitingBytes()), "all of them to stand still");
  expect(await waitingBytes()).toBeLessThan(8 * MIB);
  await allLeave(clients);
});

it("a vendor's long answer that is passed on takes little of many who do not read it, and is charged", async () => {
  gateway.vendor.answers({ body: { results: ["a"], text: "x".repeat(10 * MIB) } });
  const payer = await gateway.live({ creditCents: 100 });
  account = payer;
  const { asked } = gateway.vendor;
  const before = asked.length;
  const clients = await Promise.all(Array.from({ length: 12 }, () => unread("bulk/dump", {})));
  await eventually(() => asked.length === before + clients.length || undefined, "all calls to reach the vendor");
  // Of 120 MiB: only the first read of each, little more than 1 MiB; nothing more is requested from the vendor.
  for (let look = 0; look < 100; look++) expect(await waitingBytes()).toBeLessThan(20 * MIB);
  await allLeave(clients);
  await eventually(async () => ((await gateway.heldCents(payer)) === 0 ? true : undefined), "the end of all calls");
  expect(await gateway.balanceCents(payer)).toBe(76);
  gateway.vendor.answers({ body: { results: ["a"] } });
});
