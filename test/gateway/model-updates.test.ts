// The list of models that a running gateway sells by: brought up to date while calls go on, by word or by itself, and gone back from.
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { run } from "../../src/cli/run.ts";
import { eventually, startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";
import { anyRedis, REDIS_MS_MAX } from "../support/redis.ts";

const MODEL = "openai/gpt-5.4-mini";
const token = (usd: number) => usd / 1_000_000;
/** A list that has one model, at these prices in USD per million tokens; the adapter's are 0.75, 4.5 and 0.075. */
const listOf = (input: number, output: number) => ({
  "gpt-5.4-mini": {
    litellm_provider: "openai",
    mode: "chat",
    input_cost_per_token: token(input),
    output_cost_per_token: token(output),
    cache_read_input_token_cost: token(input / 10),
  },
});

/** Looks are many here, and without a key. */
const OFTEN = { ADDRESS_REQUESTS_PER_MINUTE: "1000000" };
const folder = mkdtempSync(join(tmpdir(), "tollgate-lists-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function listFile(list: unknown, name = "list.json"): string {
  const path = join(folder, name);
  writeFileSync(path, typeof list === "string" ? list : JSON.stringify(list));
  return path;
}

async function tollgate(gateway: TestGateway, ...words: string[]) {
  const environment = { DATA_DIR: gateway.dataDir, ADMIN_PORT: new URL(gateway.adminUrl).port };
  const out: string[] = [];
  const err: string[] = [];
  const code = await run(words, { environment, out: (line) => out.push(line), err: (line) => err.push(line) });
  return { code, out: out.join("\n"), err: err.join("\n") };
}

async function outputPrice({ url }: TestGateway): Promise<number> {
  const row = (await (await fetch(`${url}/api/llm/v1/models/${MODEL}`)).json()) as { pricing: { completion: string } };
  return Number((Number(row.pricing.completion) * 1_000_000).toFixed(6));
}

function ask({ client }: TestAccount, content = "hello") {
  return client.chat.completions.create({ model: MODEL, messages: [{ role: "user", content }], max_tokens: 50 });
}

async function lastVersion(gateway: TestGateway): Promise<string> {
  const { json } = await gateway.admin("GET", "/admin/v1/transactions?limit=1");
  return String((json.transactions as { price_version: string }[])[0]?.price_version);
}

describe("a running gateway", () => {
  let gateway: TestGateway;
  let account: TestAccount;
  beforeAll(async () => {
    gateway = await startTestGateway(OFTEN);
    account = await gateway.account();
  });
  afterAll(() => gateway.stop());

  it("shows what a list would change, and changes nothing", async () => {
    const shown = await tollgate(gateway, "models", "update", "--from", listFile(listOf(1.5, 9)), "--dry-run");
    expect(shown.out).toContain("~  openai/gpt-5.4-mini  price  0.75/4.5/0.075  1.5/9/0.15");
    expect(shown.out).toContain("1 changes would be taken, 0 wait for --yes");
    expect(shown.code).toBe(0);
    expect(await outputPrice(gateway)).toBe(4.5);
  });

  it("takes a price while calls go on: those under way keep theirs, and a posting names its version", async () => {
    const stream = await account.client.chat.completions.create({
      model: MODEL,
      messages: [{ role: "user", content: "hello [[pace: 100]]" }],
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 50,
    });
    const chunks = stream[Symbol.asyncIterator]();
    await chunks.next();
    const before = (await ask(account)).usage as unknown as { cost: number };
    const was = await lastVersion(gateway);
    const taken = await tollgate(gateway, "models", "update", "--from", listFile(listOf(1.5, 9)), "--json");
    expect(JSON.parse(taken.out)).toMatchObject({ taken: 1, held: 0 });
    expect(await outputPrice(gateway)).toBe(9);
    const after = (await ask(account)).usage as unknown as { cost: number };
    expect(after.cost).toBeCloseTo(before.cost * 2, 9);
    const version = await lastVersion(gateway);
    expect(version).toMatch(/^openai\/gpt-5\.4-mini@\d{4}-\d\d-\d\d\.\d{8}T\d{6}$/);
    for (let next = await chunks.next(); next.done !== true; ) next = await chunks.next();
    const versions = async () => {
      const { json } = await gateway.admin("GET", "/admin/v1/transactions?limit=3");
      return (json.transactions as { price_version: string }[]).map((one) => one.price_version).toSorted();
    };
    const three = [was, was, version].toSorted();
    await eventually(
      async () => ((await versions()).join() === three.join() ? true : undefined),
      "the stream's posting",
    );
    const told = await eventually(async () => {
      const { code, out } = await tollgate(gateway, "doctor", "--price", version, "--json");
      return code === 0 ? JSON.parse(out) : undefined;
    }, "the price of a version");
    expect(told).toMatchObject({ version, usd: { input: "1.5", output: "9", cache_read: "0.15" } });
    expect(await gateway.doctor()).toEqual([]);
  });

  it("says what is sold, by whom, and how old each fact is", async () => {
    const { out } = await tollgate(gateway, "models", "--sandbox", "--json");
    const { models, list } = JSON.parse(out) as {
      models: { model: string; checked: string | null }[];
      list: { source: string };
    };
    const day = new Date().toISOString().slice(0, 10);
    expect(models.find(({ model }) => model === MODEL)).toMatchObject({ kind: "chat", since: day, until: null });
    expect(list.source).toContain("list.json");
    const plain = await tollgate(gateway, "models", "--sandbox");
    expect(plain.out).toMatch(/anthropic\/claude-haiku-4\.5 .*with this release/);
  });

  it("holds what moves too far until it is told yes, and goes back", async () => {
    const far = listFile(listOf(1.5, 30), "far.json");
    const held = await tollgate(gateway, "models", "update", "--from", far);
    expect(held.out).toContain("it moves by 3.3 times");
    expect(held.code).toBe(1);
    expect(await outputPrice(gateway)).toBe(9);
    // A list is named by the second in which it was read.
    const stamps = () => readdirSync(join(gateway.dataDir, "models")).filter((name) => name.endsWith(".json"));
    const kept = stamps().length;
    await eventually(async () => {
      const { json } = await gateway.admin("GET", "/admin/v1/models");
      return (json.list as { taken_at: string }).taken_at < new Date().toISOString().slice(0, 19) ? true : undefined;
    }, "the next second");
    expect((await tollgate(gateway, "models", "update", "--from", far, "--yes")).code).toBe(0);
    expect(await outputPrice(gateway)).toBe(30);
    expect(stamps()).toHaveLength(kept + 1);
    expect((await tollgate(gateway, "models", "rollback")).code).toBe(0);
    expect(await outputPrice(gateway)).toBe(9);
    expect((await tollgate(gateway, "models", "rollback")).code).toBe(0);
    expect(await outputPrice(gateway)).toBe(4.5);
    const none = await tollgate(gateway, "models", "rollback");
    expect([none.code, none.err]).toEqual([1, expect.stringContaining("No list was taken")]);
  });

  it.each([
    ["half a file", '{"gpt-5.4-mini": {"litellm_provider": "openai', "it is no whole JSON; nothing was changed"],
    ["HTML", "<html>", "it is a page of HTML or XML, no JSON; nothing was changed"],
    [
      "prices of nothing",
      JSON.stringify(listOf(0, 0)),
      "openai/gpt-5.4-mini costs nothing there, and 0.75 here; nothing was changed",
    ],
  ])("says in one line why it does not take %s", async (_, text, why) => {
    const refused = await tollgate(gateway, "models", "update", "--from", listFile(text, "bad.json"), "--yes");
    expect([refused.code, refused.err.split("\n")]).toEqual([1, [expect.stringContaining(why)]]);
    expect(await outputPrice(gateway)).toBe(4.5);
  });

  it("asks nobody without a source", async () => {
    const refused = await tollgate(gateway, "models", "update");
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("MODELS_SOURCE")]);
  });
});

async function listServer(answer: () => { status: number; body: string } | null) {
  let asked = 0;
  const server = createServer((_, reply) => {
    asked += 1;
    const given = answer();
    if (given !== null) reply.writeHead(given.status, { "content-type": "application/json" }).end(given.body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/list.json?key=secret`, asked: () => asked };
}

it("asks a source once a day by itself, keeps what it told through a restart, and survives one that fails", async () => {
  let good = true;
  const body = JSON.stringify(listOf(1.5, 9));
  const source = await listServer(() => ({ status: good ? 200 : 500, body }));
  const dataDir = mkdtempSync(join(tmpdir(), "tollgate-daily-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const environment = { ...OFTEN, DATA_DIR: dataDir, MODELS_UPDATE: "daily", MODELS_SOURCE: source.url };
  const first = await startTestGateway(environment);
  await eventually(async () => ((await outputPrice(first)) === 9 ? true : undefined), "the price of the list");
  const { json } = await first.admin("GET", "/admin/v1/models");
  expect((json.list as { source: string }).source).not.toContain("secret");
  await first.drain();
  // What a process that was killed while it wrote has left is none.
  writeFileSync(join(dataDir, "models", "20990101T000000.json.part"), "{");
  good = false;
  const second = await startTestGateway(environment);
  expect(await outputPrice(second)).toBe(9);
  const { status, json: refused } = await second.admin("POST", "/admin/v1/models/update", {});
  expect([status, refused.message]).toEqual([409, expect.stringContaining("it answered 500; nothing was changed")]);
  expect(await outputPrice(second)).toBe(9);
  const metrics = await second.metricsText();
  expect(metrics).toMatch(/^tollgate_model_updates_total\{outcome="refused"\} 1$/m);
  expect(Number(/^tollgate_model_list_age_seconds (\S+)$/m.exec(metrics)?.[1])).toBeGreaterThan(0);
  // The day has not passed: it has asked no more than the operator.
  expect(source.asked()).toBe(2);
  await second.drain();
});

it("processes over one Redis sell at one price as soon as one of them has taken it", {
  timeout: REDIS_MS_MAX,
}, async () => {
  const redis = await anyRedis();
  onTestFinished(() => redis.dispose());
  const archive = mkdtempSync(join(folder, "archive-"));
  const environment = {
    ...OFTEN,
    REDIS_URL: redis.url,
    ARCHIVE_URL: `file://${archive}/archive.db`,
    SIGNING_SECRET: "a-secret-of-both-of-them",
  };
  const [one, two] = [await startTestGateway(environment), await startTestGateway(environment)];
  expect(await outputPrice(two)).toBe(4.5);
  expect((await tollgate(one, "models", "update", "--from", listFile(listOf(1.5, 9)))).code).toBe(0);
  const fromMs = performance.now();
  await eventually(async () => ((await outputPrice(two)) === 9 ? true : undefined), "the price at the other process");
  const tookMs = performance.now() - fromMs;
  console.log(`the other process sold at the price of a list ${tookMs.toFixed(0)} ms after it was taken`);
  // It has heard of it: it would have looked by itself a minute later.
  expect(tookMs).toBeLessThan(15_000);
  const late = await startTestGateway(environment);
  expect(await outputPrice(late)).toBe(9);
  expect((await tollgate(two, "models", "rollback")).code).toBe(0);
  await eventually(
    async () => ((await outputPrice(one)) === 4.5 ? true : undefined),
    "the price before, at the other process",
  );
  await Promise.all([one.stop(), two.stop(), late.stop()]);
});
