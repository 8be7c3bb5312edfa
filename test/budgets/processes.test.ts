// A group's budget and rate limits across two gateways that share a Redis: they share the usage, and a change applies to both.
import { afterAll, beforeAll, expect, test } from "vitest";
import { folderForFile } from "../support/for-file.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";
import { sendAs } from "../support/keyed-fetch.ts";
import { anyRedis, REDIS_MS_MAX } from "../support/redis.ts";

type Json = Record<string, unknown>;

let redis: Awaited<ReturnType<typeof anyRedis>>;
let gateways: readonly TestGateway[];
const folder = folderForFile("tollgate-archive-");
beforeAll(async () => {
  redis = await anyRedis();
  const archive = `file://${folder}/archive.db`;
  const shared = { REDIS_URL: redis.url, SIGNING_SECRET: "s".repeat(32), ARCHIVE_URL: archive };
  gateways = await Promise.all([startTestGateway(shared), startTestGateway(shared)]);
}, REDIS_MS_MAX);
afterAll(async () => {
  for (const gateway of gateways) await gateway.stop();
  await redis.dispose();
});

async function send(at: number, key: string, method: string, path: string, body?: unknown) {
  const response = await sendAs(key, method, `${gateways[at]?.url}${path}`, body);
  return { status: response.status, headers: response.headers, json: (await response.json()) as Json };
}

const chat = (at: number, key: string, words = 2) =>
  send(at, key, "POST", "/api/llm/v1/chat/completions", {
    model: "core/best",
    max_tokens: 500,
    messages: [{ role: "user", content: "say ".repeat(words) }],
  });

async function grouped(limits: Json) {
  const [first] = gateways;
  if (first === undefined) throw new Error("there is no gateway");
  const { key } = await first.account();
  const group = String((await send(0, key, "POST", "/api/v1/groups", { name: "research", ...limits })).json.id);
  const agent = String((await send(0, key, "POST", "/api/v1/agents", { group })).json.api_key);
  return { key, group, agent };
}

test("calls at both at once never come to more than the group's ceiling", async () => {
  const { key, group, agent } = await grouped({ ceiling_cents: 40 });
  const statuses = new Set<number>();
  // On a busy machine, the first calls end before the last begin: their spending leaves less room for the next sixteen.
  for (let round = 0; round < 50 && !statuses.has(402); round++) {
    const answers = await Promise.all(Array.from({ length: 16 }, (_, at) => chat(at % 2, agent, 10_000)));
    for (const { status } of answers) statuses.add(status);
  }
  expect([...statuses].sort()).toEqual([200, 402]);
  const { json } = await send(1, key, "GET", `/api/v1/groups/${group}`);
  expect(Number(json.spent_cents) + Number(json.held_cents)).toBeLessThanOrEqual(40);
  expect(Number(json.spent_cents)).toBeGreaterThan(0);
  expect(await gateways[0]?.doctor()).toEqual([]);
});

test("a ceiling that is lowered at one counts at the other, and so does a mark that a call has passed", async () => {
  const { key, group, agent } = await grouped({ ceiling_cents: 1_000, lower_at: 50 });
  expect((await chat(1, agent, 10_000)).headers.get("x-tollgate-lowered")).toBeNull();
  // Propagated over a channel: a call or two may get through before.
  await send(0, key, "PATCH", `/api/v1/groups/${group}`, { ceiling_cents: 8 });
  const told: (string | null)[] = [];
  for (let at = 0; at < 50 && told.at(-1) == null; at++)
    told.push((await chat(1, agent)).headers.get("x-tollgate-lowered"));
  expect(told.at(-1)).toBe("core/best=core/mid");
  await send(0, key, "PATCH", `/api/v1/groups/${group}`, { ceiling_cents: 0 });
  let status = 200;
  for (let at = 0; at < 50 && status === 200; at++) ({ status } = await chat(1, agent));
  expect(status).toBe(402);
});

test("requests and tokens of a minute are counted for both, and tokens that were not used come back", async () => {
  const { agent } = await grouped({ requests_per_minute: 3 });
  const statuses = (await Promise.all([0, 1, 0, 1, 0].map((at) => chat(at, agent)))).map(({ status }) => status);
  // A minute may end between two of them.
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(1);
  const tokens = await grouped({ tokens_per_minute: 1_000 });
  const first = await chat(0, tokens.agent);
  const second = await chat(1, tokens.agent);
  expect([first.status, second.status]).toEqual([200, 200]);
  const large = await chat(1, tokens.agent, 3_000);
  expect([large.status, (large.json.error as Json).code]).toEqual([429, "rate_limited"]);
  expect((large.json.error as Json).metadata).toMatchObject({ counts: "tokens" });
});
