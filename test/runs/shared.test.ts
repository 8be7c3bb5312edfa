// Runs over several processes: two gateways on one Redis, and a process on a file that is killed between hold and charge.
import { afterAll, beforeAll, expect, test } from "vitest";
import { folderForFile } from "../support/for-file.ts";
import { eventually, startTestGateway, type TestGateway } from "../support/gateway.ts";
import { doctorOffline, spawnGateway } from "../support/gateway-process.ts";
import { sendAs } from "../support/keyed-fetch.ts";
import { REDIS_MS_MAX, type RedisServer, startRedis } from "../support/redis.ts";

type Json = Record<string, unknown>;

let redis: RedisServer;
let gateways: TestGateway[];
const folder = folderForFile("tollgate-runs-");
beforeAll(async () => {
  redis = await startRedis();
  const shared = { REDIS_URL: redis.url, ARCHIVE_URL: `file://${folder}/archive.db` };
  gateways = await Promise.all([1, 2].map(() => startTestGateway(shared)));
}, REDIS_MS_MAX);
afterAll(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  await redis.dispose();
});

async function own(url: string, key: string, method: string, path: string, body?: unknown) {
  const response = await sendAs(key, method, `${url}${path}`, body);
  return { status: response.status, json: (await response.json()) as Json };
}

const chat = (url: string, key: string, body: Json): Promise<Response> =>
  sendAs(key, "POST", `${url}/v1/chat/completions`, { model: "core/best", max_tokens: 500, messages: [], ...body });
const hello = (text: string) => ({ messages: [{ role: "user", content: text }] });

test("calls through two gateways at once never spend more than the run's budget, and its sum is its postings'", async () => {
  const [one, two] = gateways as [TestGateway, TestGateway];
  const account = await one.account({ creditCents: 100_000 });
  await own(one.url, account.key, "POST", "/api/v1/runs", { id: "race", budget_cents: 5 });
  const key = `${account.key}+race`;
  const urls = Array.from({ length: 64 }, (_, at) => (at % 2 === 0 ? one.url : two.url));
  const answers = await Promise.all(urls.map((url, at) => chat(url, key, hello(`say ${at}`))));
  await Promise.all(answers.map((answer) => answer.arrayBuffer()));
  expect([...new Set(answers.map(({ status }) => status))].sort()).toEqual([200, 402]);
  const { json } = await own(two.url, account.key, "GET", "/api/v1/runs/race");
  const listed = await own(two.url, account.key, "GET", "/api/v1/transactions?limit=200");
  const charges = (listed.json.transactions as Json[]).filter(({ kind }) => kind === "charge");
  expect(json.spent_nano_usd).toBe(charges.reduce((sum, { charged_nano_usd: nano }) => sum + Number(nano), 0));
  expect(Number(json.spent_nano_usd)).toBeLessThanOrEqual(50_000_000);
  expect(json.held_nano_usd).toBe(0);
  expect(await one.doctor()).toEqual([]);
});

test("a stop at one gateway ends the streams of the other and refuses its new calls", async () => {
  const [one, two] = gateways as [TestGateway, TestGateway];
  const account = await one.account();
  await own(one.url, account.key, "POST", "/api/v1/runs", { id: "stopped", budget_cents: 500 });
  const key = `${account.key}+stopped`;
  const slow = { model: "sandbox/ok-at-2", stream: true, max_tokens: 4_000, ...hello("[[words: 2000]]") };
  const answer = await chat(two.url, key, slow);
  expect(answer.status).toBe(200);
  await own(one.url, account.key, "POST", "/api/v1/runs/stopped/stop");
  expect(await answer.text()).toContain("run_stopped");
  await eventually(
    async () => ((await chat(two.url, key, hello("more"))).status === 409 ? true : undefined),
    "the 409",
  );
  expect(await two.doctor()).toEqual([]);
});

test("after a kill between hold and charge, the run's sum is its postings' and nothing is held", async () => {
  const dataDir = folderForFile("tollgate-runs-kill-");
  const environment = { DATA_DIR: dataDir };
  const first = await spawnGateway(environment);
  const made = await first.admin("POST", "/admin/v1/accounts", { name: "a", kind: "sandbox", credit_cents: 1_000 });
  const key = String(made.api_key);
  await own(first.url, key, "POST", "/api/v1/runs", { id: "killed", budget_cents: 100 });
  expect((await chat(first.url, `${key}+killed`, hello("before"))).status).toBe(200);
  const slow = { model: "sandbox/ok-at-2", stream: true, max_tokens: 4_000, ...hello("[[words: 2000]]") };
  const streaming = await chat(first.url, `${key}+killed`, slow);
  const held = (await own(first.url, key, "GET", "/api/v1/runs/killed")).json;
  expect(Number(held.held_nano_usd)).toBeGreaterThan(0);
  await first.kill();
  await streaming.text().catch(() => "");
  const second = await spawnGateway(environment);
  const { json } = await own(second.url, key, "GET", "/api/v1/runs/killed");
  expect(json).toMatchObject({ held_nano_usd: 0, spent_nano_usd: held.spent_nano_usd, status: "open" });
  expect((await chat(second.url, `${key}+killed`, hello("after"))).status).toBe(200);
  await second.terminate();
  expect(await doctorOffline(dataDir)).toMatchObject({ report: { findings: [] } });
});
