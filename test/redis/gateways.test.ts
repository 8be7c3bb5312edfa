// Three gateways over one Redis: one balance, one ceiling, one window, and keys whose changes reach all of them.
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { keyOfFormer } from "../../src/money/accounts/former-secrets.ts";
import { rotateKey } from "../../src/money/accounts/keys.ts";
import { mintKey } from "../../src/money/accounts/secrets.ts";
import { redisLedger } from "../../src/money/ledger/redis/ledger.ts";
import { redisRecords } from "../../src/platform/records/redis-records.ts";
import type { RouteRow } from "../../src/upstream/route-figures.ts";
import { Person } from "../edge/oauth/person.ts";
import { newKey } from "../money/ledger/requests.ts";
import { callChat } from "../support/chat-call.ts";
import { folderForFile } from "../support/for-file.ts";
import { eventually, startTestGateway, type TestGateway, withinAMinute } from "../support/gateway.ts";
import { postAs } from "../support/keyed-fetch.ts";
import { HASTY_MS } from "../support/patience.ts";
import { onlyAProcessShows } from "../support/process-fact.ts";
import { openLink, REDIS_MS_MAX, type RedisServer, startRedis } from "../support/redis.ts";

onlyAProcessShows("two gateways on one Redis");

let redis: RedisServer;
let gateways: TestGateway[];
const folder = folderForFile("tollgate-archive-");
const archive = { ARCHIVE_URL: `file://${folder}/archive.db` };
beforeAll(async () => {
  redis = await startRedis();
  gateways = await Promise.all([1, 2, 3].map(() => startTestGateway({ REDIS_URL: redis.url, ...archive })));
}, REDIS_MS_MAX);
afterAll(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  await redis.dispose();
});

/** Well below the minute for which a gateway without notices uses its cached state of a key. */
const TOLD_MS = 20_000;

const first = () => gateways[0] as TestGateway;

async function run(gateway: TestGateway, key: string, params: unknown, headers: Record<string, string> = {}) {
  const response = await postAs(key, `${gateway.url}/api/run/brave/search`, params, headers);
  return {
    status: response.status,
    headers: response.headers,
    json: (await response.json()) as Record<string, unknown>,
  };
}

async function balanceCents(account: { accountId: string }): Promise<unknown> {
  const { json } = await first().admin("GET", `/admin/v1/accounts/${account.accountId}`);
  return [json.balance_cents, json.held_cents];
}

it("300 calls at once through all of them on a balance for 100: exactly 100 pass", async () => {
  const account = await first().account({ creditCents: 100, inFlight: 1_000 });
  const calls = Array.from({ length: 300 }, (_, at) =>
    run(gateways[at % 3] ?? first(), account.key, { q: `tea ${at}` }),
  );
  const statuses = (await Promise.all(calls)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(100);
  expect(new Set(statuses)).toEqual(new Set([200, 402]));
  expect(await balanceCents(account)).toEqual([0, 0]);
  expect(await first().doctor()).toEqual([]);
});

it("a chat through one is in the transactions that another shows", async () => {
  const account = await first().account();
  const body = { model: "core/cheap", messages: [{ role: "user", content: "Hello" }], max_tokens: 20 };
  const [, second, third] = gateways;
  const answer = await callChat(body, { url: second?.url ?? "", key: account.key });
  expect(answer.status).toBe(200);
  const headers = { authorization: `Bearer ${account.key}` };
  const listed = await fetch(`${third?.url}/api/v1/transactions`, { headers });
  const { transactions } = (await listed.json()) as { transactions: { kind: string; model?: string }[] };
  expect(transactions.map(({ kind }) => kind)).toEqual(["charge", "topup"]);
});

it("the account's window counts paid calls through all of them", async () => {
  const account = await first().account({ requestsPerMinute: 30 });
  const calls = Array.from({ length: 60 }, (_, at) => run(gateways[at % 3] ?? first(), account.key, { q: "tea" }));
  const answers = await Promise.all(calls);
  // A new window may have begun during the calls.
  const good = answers.filter(({ status }) => status === 200).length;
  expect(good).toBeGreaterThanOrEqual(30);
  expect(good).toBeLessThanOrEqual(60);
  for (const { status, json, headers } of answers.filter((answer) => answer.status !== 200)) {
    expect([status, json.error]).toEqual([429, "rate_limited"]);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  }
});

it("the RateLimit headers of paid calls say what is left over all of them, and nothing with a refusal", async () => {
  const limit = 5;
  const seen = await withinAMinute(async () => {
    const account = await first().account({ requestsPerMinute: limit });
    const answers: { status: number; remaining: number; resetSeconds: number; retryAfter: string | null }[] = [];
    for (let at = 0; at <= limit; at++) {
      const { status, headers } = await run(gateways[at % 3] ?? first(), account.key, { q: "tea" });
      const [remaining, resetSeconds] = ["remaining", "reset"].map((name) => Number(headers.get(`ratelimit-${name}`)));
      answers.push({
        status,
        remaining: remaining ?? -1,
        resetSeconds: resetSeconds ?? 0,
        retryAfter: headers.get("retry-after"),
      });
    }
    return answers;
  });
  expect(seen.map(({ status, remaining }) => [status, remaining])).toEqual([
    ...[4, 3, 2, 1, 0].map((remaining) => [200, remaining]),
    [429, 0],
  ]);
  expect(seen.at(-1)?.retryAfter).toBe(String(seen.at(-1)?.resetSeconds));
});

it("a key that is paused, limited or revoked at one of them is so at the others within a second", async () => {
  const account = await first().account();
  const [, second] = gateways;
  if (second === undefined) throw new Error("there are three");
  const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
  const send = async (method: string, path: string, body: unknown) => {
    const response = await fetch(`${first().url}${path}`, { method, headers, body: JSON.stringify(body) });
    return (await response.json()) as Record<string, unknown>;
  };
  const made = await send("POST", "/api/v1/agents", { label: "agent" });
  const key = String(made.api_key);
  expect((await run(second, key, { q: "tea" })).status).toBe(200);
  // A second on an idle machine. Without a notice, a gateway would use its cached state of a key for a minute.
  const becomes = (status: number, what: string) =>
    eventually(
      async () => ((await run(second, key, { q: "tea" })).status === status ? true : undefined),
      what,
      TOLD_MS,
    );
  await send("PATCH", `/api/v1/agents/${made.id}`, { paused: true });
  await becomes(403, "the pause");
  await send("PATCH", `/api/v1/agents/${made.id}`, { paused: false });
  await becomes(200, "its end");
  await send("DELETE", `/api/v1/agents/${made.id}`, {});
  await becomes(401, "the revocation");
});

it("whoever changes a key or an account has told all of them in the same step, though he should die after it", async () => {
  const account = await first().account();
  const [, second] = gateways;
  const made = mintKey(false);
  const headers = { authorization: `Bearer ${made.secret}` };
  const becomes = (what: string, isSo: (response: Response) => boolean) =>
    eventually(async () => isSo(await fetch(`${second?.url}/api/v1/agents`, { headers })) || undefined, what, TOLD_MS);
  // Only the ledger step with which a gateway begins a change, and none of the later steps.
  const link = await openLink(redis.url);
  const ledger = redisLedger({ link, clock: systemClock, leaseMs: 60_000 });
  try {
    const { secretHash, hint } = made;
    await ledger.createKey(account.accountId, newKey("key_made", { secretHash, hint }));
    await becomes("the key to be known", ({ status }) => status === 200);
    await ledger.patchAccount(account.accountId, { requestsPerMinute: 77 });
    await becomes("the account's new limit", ({ headers }) => headers.get("ratelimit-limit") === "77");
    await ledger.rotateKey(account.accountId, "key_made", mintKey(false).secretHash, hint);
    await becomes("the old secret to be refused", ({ status }) => status === 401);
  } finally {
    await link.close();
  }
});

it("a secret that a rotation leaves good for a while is good all along, also at the moment in which it is swapped", async () => {
  const account = await first().account();
  const made = mintKey(false);
  const link = await openLink(redis.url);
  const ledger = redisLedger({ link, clock: systemClock, leaseMs: 60_000 });
  const at = { accountId: account.accountId, keyId: "key_turned", sandbox: false };
  const whoHas = (hash: string) => keyOfFormer({ books: ledger, rules, clock: systemClock }, hash);
  const rules = redisRecords(link);
  let seen: unknown = "not asked";
  // The state for a process that has just heard of the swap, while this one still waits for replicas.
  const books = Object.assign(Object.create(ledger), {
    async rotateKey(...args: Parameters<typeof ledger.rotateKey>) {
      const turned = await ledger.rotateKey(...args);
      seen = [await ledger.keyByHash(made.secretHash), (await whoHas(made.secretHash))?.key.keyId];
      return turned;
    },
  });
  try {
    await ledger.createKey(account.accountId, newKey("key_turned", { secretHash: made.secretHash, hint: made.hint }));
    const turned = await rotateKey({ books, rules, clock: systemClock, unsold: () => null }, at, {
      overlap_seconds: 60,
    });
    expect(turned).toMatchObject({ status: 200 });
    expect(seen).toEqual([null, "key_turned"]);
  } finally {
    await link.close();
  }
});

it("an Idempotency-Key means the same at all of them", async () => {
  const account = await first().account({ creditCents: 10 });
  const [one, two, three] = await Promise.all(
    gateways.map((gateway) => run(gateway, account.key, { q: "tea" }, { "idempotency-key": "order-1" })),
  );
  const statuses = [one, two, three].map((answer) => answer?.status);
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(1);
  expect(statuses.every((status) => status === 200 || status === 409)).toBe(true);
  const again = await run(first(), account.key, { q: "tea" }, { "idempotency-key": "order-1" });
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect(await balanceCents(account)).toEqual([9, 0]);
});

it("what one finds out of its routes the others know a second later: who rests, and where a conversation has gone", async () => {
  const account = await first().account();
  const MODELS = ["sandbox/429-after-60", "sandbox/ok"];
  // A prompt alone continues no conversation.
  const laterTurn = (begin: string) => [
    { role: "user", content: `${begin} [[pace: 100000]]` },
    { role: "assistant", content: "So it is." },
    { role: "user", content: "and? [[pace: 100000]]" },
  ];
  const ask = async (gateway: TestGateway | undefined, text: string, models = MODELS) => {
    const response = await postAs(
      account.key,
      `${gateway?.url}/api/llm/v1/chat/completions`,
      { models, messages: laterTurn(text) },
      { "x-tollgate-trace": "1" },
    );
    expect(response.status).toBe(200);
    const { tollgate } = (await response.json()) as { tollgate: { attempts: { model: string }[] } };
    return { tried: tollgate.attempts.map(({ model }) => model), routes: response.headers.get("x-tollgate-routes") };
  };
  expect((await ask(gateways[0], "the one that moves")).tried).toEqual(MODELS);
  // Notices arrive in order: a gateway that knows this one knows all before it.
  await ask(gateways[0], "a later one", ["sandbox/429-after-59", "sandbox/ok"]);
  for (const gateway of gateways.slice(1)) {
    // Polls the metrics, because a call would itself discover the failing route.
    await eventually(async () => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      return /^tollgate_route_resting\{.*429-after-59.*\} 1$/m.test(await gateway.metricsText()) || undefined;
    }, "the others to know");
    expect((await ask(gateway, "another")).tried).toEqual(["sandbox/ok"]);
    const { routes } = (await gateway.admin("GET", "/admin/v1/routes")).json as { routes: RouteRow[] };
    const heard = routes.find(({ model }) => model === "sandbox/429-after-59");
    expect(heard).toMatchObject({ rests: true, failures: [{ reason: "provider_rate_limited", status: 429 }] });
    const moved = await ask(gateway, "the one that moves");
    expect(moved.tried).toEqual(["sandbox/ok"]);
    expect(moved.routes).toContain("the conversation was served there");
  }
});

/** A gateway with production's time limit for Redis commands, for the outage tests. */
async function hastyGateway(environment: Record<string, string> = {}): Promise<TestGateway> {
  const settings = { REDIS_URL: redis.url, ...archive, REDIS_COMMAND_MS: String(HASTY_MS), ...environment };
  const gateway = await startTestGateway(settings);
  onTestFinished(async () => {
    await redis.start();
    await gateway.stop();
  });
  return gateway;
}

it("without its Redis a gateway refuses what costs within a second, and goes on when it is back", async () => {
  const gateway = await hastyGateway();
  const account = await first().account({ creditCents: 10 });
  expect((await run(gateway, account.key, { q: "tea" })).status).toBe(200);
  await redis.kill();
  const from = Date.now();
  const refused = await run(gateway, account.key, { q: "tea" });
  expect([refused.status, refused.json.error]).toEqual([503, "ledger_unavailable"]);
  // Redis gets half a second for an answer; a busy machine needs more for the rest.
  expect(Date.now() - from).toBeLessThan(10_000);
  await redis.start();
  await eventually(
    async () => ((await run(gateway, account.key, { q: "tea" })).status === 200 ? true : undefined),
    "the gateway to go on",
  );
  expect(await balanceCents(account)).toEqual([8, 0]);
});

it("an outage of Redis is one line of the log at its begin and one at its end, and the gateway is not ready meanwhile", async () => {
  const gateway = await hastyGateway();
  const account = await first().account({ creditCents: 10 });
  expect((await run(gateway, account.key, { q: "tea" })).status).toBe(200);
  const notices = () =>
    gateway.lines().flatMap((line) => (/"level":[56]0|the store/.test(line) ? [JSON.parse(line)] : []));
  expect((await gateway.admin("GET", "/readyz")).status).toBe(200);
  await redis.kill();
  for (let at = 0; at < 20; at++) await run(gateway, account.key, { q: "tea" });
  const { status, json } = await gateway.admin("GET", "/readyz");
  expect([status, json.reason]).toEqual([503, expect.stringContaining("Redis")]);
  await gateway.metricsText();
  await redis.start();
  await eventually(
    () => (gateway.lines().some((line) => line.includes("the store is back")) ? true : undefined),
    "its end",
  );
  expect(notices().map(({ msg }) => msg)).toEqual([
    expect.stringContaining("the store is away"),
    expect.stringContaining("the store is back"),
  ]);
  expect(notices()[0]).not.toHaveProperty("err");
  expect((await gateway.admin("GET", "/readyz")).status).toBe(200);
});

it("keys that a gateway does not know while Redis is away are told so, not counted against their address", async () => {
  const gateway = await hastyGateway({ ADDRESS_REQUESTS_PER_MINUTE: "3" });
  const account = await first().account({ creditCents: 10 });
  await redis.kill();
  for (let at = 0; at < 5; at++) {
    const { status, json, headers } = await run(gateway, account.key, { q: "tea" });
    expect([status, json.error]).toEqual([503, "ledger_unavailable"]);
    expect([headers.get("ratelimit-limit"), headers.get("ratelimit-remaining")]).toEqual(["3", "3"]);
  }
  await redis.start();
  await eventually(
    async () => ((await run(gateway, account.key, { q: "tea" })).status === 200 ? true : undefined),
    "the gateway to go on",
  );
});

it("pages say that the store is away, ask again by themselves, and are there again when it is back, still signed in", async () => {
  const gateway = await hastyGateway({ TRUST_PROXY: "1" });
  const account = await first().account();
  const [person, operator] = [new Person(gateway.url), new Person(gateway.adminUrl)];
  await person.signIn(account.key);
  await operator.submit("/console/sign-in", { token: gateway.adminToken, name: "ada" });
  const pages = [
    [person, "/account"],
    [operator, "/console/accounts"],
  ] as const;
  const statuses = () => Promise.all(pages.map(async ([who, path]) => (await who.open(path)).status));
  expect(await statuses()).toEqual([200, 200]);
  const csrf = await person.csrf("/account/keys");
  await redis.stop();
  for (const [who, path] of pages) {
    const away = await who.open(path);
    const text = await away.text();
    expect(away.status, path).toBe(503);
    expect(text).toContain("The ledger cannot be read at the moment");
    expect(text).toContain('http-equiv="refresh"');
  }
  const sent = await person.submit("/account/keys", { csrf, act: "make", label: "lost" });
  expect(sent.status).toBe(503);
  expect(await sent.text()).toContain("We do not know whether this was done");
  await redis.start();
  await eventually(async () => ((await statuses()).every((one) => one === 200) ? true : undefined), "the pages");
  expect(await (await person.open("/account/keys")).text()).not.toContain("lost");
});

it("a server that would lose money is refused at start, with what is wrong and the way around", async () => {
  const careless = await startRedis({ appendfsync: "everysec" });
  try {
    await expect(startTestGateway({ REDIS_URL: careless.url })).rejects.toThrow(/appendfsync.*REDIS_UNSAFE=1/s);
    const gateway = await startTestGateway({ REDIS_URL: careless.url, REDIS_UNSAFE: "1" });
    await gateway.stop();
  } finally {
    await careless.dispose();
  }
});
