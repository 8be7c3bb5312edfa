// Gateways over Redis under load while Redis hangs, is slow, cut off, full, killed or loses a node: acknowledged writes survive, and
// refusals are quick.
import { hash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { RULES_KIND } from "../../src/money/accounts/rules.ts";
import { leasesWith } from "../../src/money/ledger/redis/account-index.ts";
import { recordKey } from "../../src/platform/records/redis-records.ts";
import { randomFrom } from "../../src/sandbox/vocabulary.ts";
import { callChat } from "../support/chat-call.ts";
import {
  expectNothingHeld,
  expectNothingLost,
  type Fleet,
  type FleetAccount,
  type Load,
  startFleet,
  startLoad,
} from "../support/fleet.ts";
import { eventually } from "../support/gateway.ts";
import { REDIS_MS_MAX, type RedisSettings, startRedis, startRedisCluster } from "../support/redis.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const CREDIT = 1_000_000;
/** A dead process's hold ends with its lease of 60 seconds and the next sweep; a server that just started waits as long. */
const LEASE_AND_SWEEP_MS = 150_000;
const SEED = Number(process.env.KILL_SEED ?? Date.now() % 1_000_000);

async function startOver(size: number, settings: RedisSettings = {}) {
  const redis = await startRedis(settings);
  const proxy = await startTcpProxy(redis.port);
  const fleet = await startFleet(size, `redis://127.0.0.1:${proxy.port}`);
  onTestFinished(async () => {
    await fleet.dispose();
    await proxy.close();
    await redis.dispose();
  }, REDIS_MS_MAX);
  return { redis, proxy, fleet, account: await fleet.account(CREDIT) };
}

const chat = { model: "sandbox/ok", max_tokens: 20, messages: [{ role: "user", content: "hello" }] };

/** Settles once a call has been refused because the ledger is unavailable. */
const refused = (load: Load) => {
  const before = load.endings.get("ledger_unavailable") ?? 0;
  return eventually(() => (load.endings.get("ledger_unavailable") ?? 0) > before || undefined, "a refusal");
};

async function killed(times: number, load: Load, again: (round: number) => Promise<void>): Promise<void> {
  for (let round = 0; round < times; round++) {
    await load.progress(30);
    await again(round);
  }
  await load.progress(30);
  await load.stop();
  console.log(
    `seed ${SEED}: ${load.acknowledged.length} charges told of, endings ${JSON.stringify(Object.fromEntries(load.endings))}, ` +
      `slowest answer ${Math.round(load.slowestMs())} ms`,
  );
}

it("one gateway of two is killed ten times: every charge told of is there once, and no hold outlives lease and sweep", async () => {
  const { fleet, account } = await startOver(2);
  const load = startLoad(fleet, account, randomFrom(SEED), 16);
  await killed(10, load, async (round) => {
    await fleet.kill(round % 2);
    await fleet.start(round % 2);
  });
  await expectNothingLost(fleet, account, CREDIT, load);
  await expectNothingHeld(fleet, LEASE_AND_SWEEP_MS);
  await expectNothingLost(fleet, account, CREDIT, load);
});

it("all gateways are killed at once, five times", async () => {
  const { fleet, account } = await startOver(2);
  const load = startLoad(fleet, account, randomFrom(SEED), 16);
  await killed(5, load, async () => {
    await Promise.all([fleet.kill(0), fleet.kill(1)]);
    await Promise.all([fleet.start(0), fleet.start(1)]);
  });
  await expectNothingLost(fleet, account, CREDIT, load);
});

it("Redis is killed fifteen times, and comes back after a while or at once", async () => {
  const { redis, fleet, account } = await startOver(2);
  const random = randomFrom(SEED);
  const load = startLoad(fleet, account, randomFrom(SEED + 1), 16);
  await killed(15, load, async () => {
    await redis.kill();
    await sleep(random() < 0.5 ? 0 : random() * 2_000);
    await redis.start();
  });
  await expectNothingLost(fleet, account, CREDIT, load);
  expect(await fleet.drain()).toEqual([0, 0]);
});

it("Redis stands still: calls are refused within two seconds, and go on when it moves", async () => {
  const { redis, fleet, account } = await startOver(2);
  const load = startLoad(fleet, account, randomFrom(SEED), 16);
  await load.progress(30);
  const asked = async () => callChat(chat, { url: fleet.up()[0]?.url ?? "", key: account.key });
  redis.freeze();
  await refused(load);
  const fromMs = performance.now();
  const answer = await asked();
  expect([answer.status, answer.error?.code]).toEqual([503, "ledger_unavailable"]);
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  // Redis gets half a second for each of two tries; a busy machine needs more for the rest.
  expect(performance.now() - fromMs).toBeLessThan(10_000);
  await sleep(5_000);
  redis.thaw();
  await load.progress(30);
  await load.stop();
  await expectNothingLost(fleet, account, CREDIT, load);
});

it("the way to Redis takes 100 ms, then 700, then swallows everything", async () => {
  const { proxy, fleet, account } = await startOver(2);
  const load = startLoad(fleet, account, randomFrom(SEED), 16);
  await load.progress(30);
  proxy.pass(50);
  await load.progress(30);
  proxy.pass(350);
  await refused(load);
  proxy.blackHole();
  await refused(load);
  proxy.pass();
  // A connection never loses bytes in its middle and continues.
  proxy.cut();
  await load.progress(30);
  await load.stop();
  await expectNothingLost(fleet, account, CREDIT, load);
});

it("the connection is cut after the send, a hundred times, at holds and at posts", async () => {
  const { proxy, fleet, account } = await startOver(1);
  const load = startLoad(fleet, account, randomFrom(SEED), 8);
  for (let cut = 0; cut < 100; cut++) {
    await load.progress(1);
    await proxy.cutAfter("{a:");
  }
  await load.progress(30);
  await load.stop();
  expect([...load.endings.keys()]).not.toContain("internal_error");
  await expectNothingLost(fleet, account, CREDIT, load);
});

it("Redis is full: new calls are refused with Retry-After, running ones are charged, and with room all goes on", async () => {
  const { redis, fleet, account } = await startOver(2);
  const load = startLoad(fleet, account, randomFrom(SEED), 8);
  await load.progress(30);
  const slow = { ...chat, model: "sandbox/ok-at-20", stream: true, stream_options: { include_usage: true } };
  const running = callChat(slow, { url: fleet.up()[0]?.url ?? "", key: account.key });
  await eventually(async () => (await fleet.balance(account))[1] > 0 || undefined, "a hold");
  await redis.send("CONFIG", "SET", "maxmemory", "1mb");
  await refused(load);
  const answer = await callChat(chat, { url: fleet.up()[1]?.url ?? "", key: account.key });
  expect([answer.status, answer.error?.code]).toEqual([503, "ledger_unavailable"]);
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  const ended = await running;
  console.log(
    `a call that ran while Redis was full ended with ${ended.status}, told of its charge: ${ended.acknowledged}`,
  );
  await redis.send("CONFIG", "SET", "maxmemory", "0");
  await load.progress(30);
  await load.stop();
  await expectNothingLost(fleet, account, CREDIT, load);
});

it("a node of a cluster is killed: accounts of the other nodes go on, and its own once it is back", async () => {
  const cluster = await startRedisCluster({ "cluster-require-full-coverage": "no" });
  const fleet = await startFleet(2, cluster.url);
  onTestFinished(async () => {
    await fleet.dispose();
    await cluster.dispose();
  });
  const byNode = await accountPerNode(
    fleet,
    cluster.nodes.map(({ send }) => send),
  );
  const loads = byNode.map((account, at) => startLoad(fleet, account, randomFrom(SEED + at), 4));
  for (const load of loads) await load.progress(10);
  const [lost, ...others] = loads as [Load, ...Load[]];
  await cluster.nodes[0]?.kill();
  await refused(lost);
  for (const load of others) await load.progress(100);
  await cluster.nodes[0]?.start();
  for (const load of loads) await load.progress(10);
  for (const load of loads) await load.stop();
  for (const [at, load] of loads.entries()) {
    await expectNothingLost(fleet, byNode[at] as FleetAccount, CREDIT, load);
  }
});

/** Opens accounts until each node has one together with all that its calls need: its key, its rules and the index of its leases. */
async function accountPerNode(
  fleet: Fleet,
  sends: readonly ((command: string, ...words: string[]) => Promise<unknown>)[],
) {
  const share = Math.ceil(16_384 / sends.length);
  const nodeOf = async (name: string) => Math.floor(Number(await sends[0]?.("CLUSTER", "KEYSLOT", name)) / share);
  const found = new Map<number, FleetAccount>();
  while (found.size < sends.length) {
    const account = await fleet.account(CREDIT);
    const node = await nodeOf(`{a:${account.accountId}}`);
    const asked = [
      `kh:${hash("sha256", account.key)}`,
      recordKey(RULES_KIND, account.accountId),
      leasesWith(account.accountId),
    ];
    const others = await Promise.all(asked.map(nodeOf));
    if (others.every((other) => other === node)) found.set(node, account);
  }
  return sends.map((_, node) => found.get(node) as FleetAccount);
}
