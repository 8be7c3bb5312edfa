// A model whose vendor reports a higher cost than our price: the loss is visible, and the model ranks behind others for the day.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { run } from "../../src/cli/run.ts";
import { folderForTest } from "../support/for-file.ts";
import { eventually, startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";
import { spawnGateway } from "../support/gateway-process.ts";
import { anyRedis, REDIS_MS_MAX } from "../support/redis.ts";

const MODEL = "qwen/qwen3.7-max";
let costUsd = 0;
let asked = 0;
const server = createServer((request, reply) => {
  request.resume().on("end", () => {
    asked += 1;
    const usage = { prompt_tokens: 1_000, completion_tokens: 1_000, total_tokens: 2_000, cost: costUsd };
    const choices = [{ index: 0, message: { role: "assistant", content: "hello" }, finish_reason: "stop" }];
    const body = { id: "x", object: "chat.completion", created: 1, model: MODEL, choices, usage };
    reply.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
});

let environment: Record<string, string>;
let gateway: TestGateway;
let account: TestAccount;
let allowing: TestGateway;

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  environment = { OPENROUTER_API_KEY: "a-key-of-ours", OPENROUTER_BASE_URL: url };
  gateway = await startTestGateway(environment);
  allowing = await startTestGateway({ ...environment, ALLOW_LOSS: "1" });
  account = await gateway.account({ kind: "personal", creditCents: 10_000 });
});
afterAll(async () => {
  await Promise.all([gateway.stop(), allowing.stop()]);
  server.close();
});

async function call({ client }: TestAccount) {
  const asking = { model: MODEL, messages: [{ role: "user" as const, content: "hello" }], max_tokens: 2_000 };
  return (await client.chat.completions.create(asking)).usage as unknown as { cost: number };
}

async function lossesOf(of: TestGateway) {
  const { json } = await of.admin("GET", "/admin/v1/prices");
  return json.losses as { provider: string; model: string; percent: number; rests: boolean }[];
}

it("is seen by nobody while it costs what it is sold for", async () => {
  costUsd = 0;
  const { cost } = await call(account);
  costUsd = cost;
  await call(account);
  expect(await lossesOf(gateway)).toEqual([]);
});

it("is a metric, a line of the prices, and goes behind others", async () => {
  const { cost } = await call(account);
  costUsd = cost + 0.02;
  const lost = await eventually(async () => {
    await call(account);
    const [row] = await lossesOf(gateway);
    return row?.rests === true ? row : undefined;
  }, "a loss of more than a cent");
  expect(lost).toMatchObject({ provider: "openrouter", model: MODEL });
  expect(lost.percent).toBeGreaterThan(5);
  const metrics = await gateway.metricsText();
  expect(metrics).toMatch(
    /^tollgate_model_losses_usd_total\{provider="openrouter",model="qwen\/qwen3\.7-max"\} 0\.\d+$/m,
  );
  expect(metrics).toMatch(/^tollgate_route_resting\{[^}]*model="qwen\/qwen3\.7-max"[^}]*\} 1$/m);
  const there = { DATA_DIR: gateway.dataDir, ADMIN_PORT: new URL(gateway.adminUrl).port };
  const out: string[] = [];
  await run(["prices"], { environment: there, out: (line) => out.push(line), err: (line) => out.push(line) });
  expect(out.join("\n")).toContain(`Lost today: ${MODEL} at openrouter cost`);
  // It still serves where no other model can.
  const before = asked;
  await call(account);
  expect(asked).toBe(before + 1);
});

it("stays where it is where the operator allows losses", async () => {
  const other = await allowing.account({ kind: "personal", creditCents: 10_000 });
  costUsd = 0.05;
  for (let calls = 0; calls < 3; calls++) await call(other);
  const [row] = await lossesOf(allowing);
  expect(row).toMatchObject({ model: MODEL, rests: false });
});

function folderOfOurs(): string {
  const folder = folderForTest("tollgate-losses-");
  return folder;
}

/** Loses a dollar on one answer. */
async function lose(of: TestGateway) {
  costUsd = 1;
  await call(await of.account({ kind: "personal", creditCents: 10_000 }));
  return eventually(async () => (await lossesOf(of))[0], "a loss");
}

it("is known after a restart, and the model goes on behind the others", async () => {
  const kept = { ...environment, DATA_DIR: folderOfOurs() };
  const first = await startTestGateway(kept);
  const lost = await lose(first);
  await first.drain();
  const second = await startTestGateway(kept);
  expect(await lossesOf(second)).toEqual([lost]);
  expect(await second.metricsText()).toMatch(/^tollgate_route_resting\{[^}]*model="qwen\/qwen3\.7-max"[^}]*\} 1$/m);
  // New losses add to the old ones.
  const again = await lose(second);
  expect(again.percent).toBe(lost.percent);
  await second.drain();
});

it("is one sum of all processes over one Redis, each of which puts the model behind", {
  timeout: REDIS_MS_MAX,
}, async () => {
  const redis = await anyRedis();
  onTestFinished(() => redis.dispose());
  const shared = {
    ...environment,
    REDIS_URL: redis.url,
    ARCHIVE_URL: `file://${folderOfOurs()}/archive.db`,
    SIGNING_SECRET: "a-secret-of-both-of-them",
  };
  const [one, two] = [await startTestGateway(shared), await startTestGateway(shared)];
  const lost = await lose(one);
  expect(await lossesOf(two)).toEqual([lost]);
  expect(await two.metricsText()).toMatch(/^tollgate_route_resting\{[^}]*model="qwen\/qwen3\.7-max"[^}]*\} 1$/m);
  await lose(two);
  const both = await eventually(async () => {
    const rows = (await lossesOf(one)) as unknown as { upstream_usd: number }[];
    return rows[0]?.upstream_usd === 2 ? rows : undefined;
  }, "the sum of both");
  expect(await lossesOf(two)).toEqual(both);
  await Promise.all([one.drain(), two.drain()]);
});

it("is told by the parent of several processes, which serves no call itself", { timeout: REDIS_MS_MAX }, async () => {
  const redis = await anyRedis();
  onTestFinished(() => redis.dispose());
  const settings = { ...environment, DATA_DIR: folderOfOurs(), REDIS_URL: redis.url, WORKERS: "2", LOG_LEVEL: "error" };
  const parent = await spawnGateway(settings);
  costUsd = 1;
  const account = { name: "a", kind: "personal", credit_cents: 10_000 };
  const { api_key } = await parent.admin("POST", "/admin/v1/accounts", account);
  const asked = await fetch(`${parent.url}/api/llm/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${api_key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: MODEL, messages: [{ role: "user", content: "hello" }], max_tokens: 2_000 }),
  });
  expect(asked.status).toBe(200);
  const rows = await eventually(async () => {
    const { losses } = await parent.admin("GET", "/admin/v1/prices");
    return (losses as unknown[]).length > 0 ? losses : undefined;
  }, "the parent's lines");
  expect(rows).toMatchObject([{ provider: "openrouter", model: MODEL, upstream_usd: 1, rests: true }]);
  await parent.kill();
});
