// Four gateways as processes over one Redis: they share a balance to the cent, and lose no charge when any of it is killed.
import { afterAll, beforeAll, expect, it } from "vitest";
import { randomFrom } from "../../src/sandbox/vocabulary.ts";
import { expectNothingLost, type Fleet, startFleet, startLoad } from "../support/fleet.ts";
import { eventually } from "../support/gateway.ts";
import { REDIS_MS_MAX, type RedisServer, startRedis } from "../support/redis.ts";

const SIZE = 4;
const SETTINGS = {
  // Each of the gateways has a sandbox of its own, which knows the actions too.
  SANDBOX_URL: "",
  // Nothing here is about a slow Redis; one that is away is waited for as long, so it is not the whole of a test's patience.
  REDIS_COMMAND_MS: "3000",
};
let redis: RedisServer;
let fleet: Fleet;
beforeAll(async () => {
  redis = await startRedis();
  fleet = await startFleet(SIZE, redis.url, SETTINGS);
}, REDIS_MS_MAX);
afterAll(async () => {
  await fleet.dispose();
  await redis.dispose();
});

it("512 calls at once through four processes on a balance for 100: exactly 100 pass", async () => {
  // Actions cost a cent, whatever they find.
  const account = await fleet.account(100);
  const gateways = fleet.up();
  const calls = Array.from({ length: 512 }, async (_, at) => {
    const response = await fetch(`${gateways[at % SIZE]?.url}/api/run/brave/search`, {
      method: "POST",
      headers: { authorization: `Bearer ${account.key}`, "content-type": "application/json" },
      body: JSON.stringify({ q: `tea ${at}` }),
    });
    const text = await response.text();
    return response.status === 200 ? "good" : `${response.status} ${(JSON.parse(text) as { error: string }).error}`;
  });
  const answers = await Promise.all(calls);
  expect(
    Object.fromEntries(Object.entries(Object.groupBy(answers, (one) => one)).map(([one, all]) => [one, all?.length])),
  ).toEqual({ good: 100, "402 insufficient_balance": 412 });
  expect(await fleet.balance(account)).toEqual([0, 0]);
  expect(await fleet.charges(account)).toHaveLength(100);
  expect(await fleet.doctor()).toEqual({ holds: 0, findings: [] });
});

it("a gateway, Redis, and then all gateways are killed under load: every charge told of is there once", async () => {
  const credit = 100_000;
  const account = await fleet.account(credit);
  const load = startLoad(fleet, account, randomFrom(1), 16);
  await load.progress(50);
  await fleet.kill(0);
  // The others go on at once.
  await load.progress(50);
  await fleet.start(0);
  await redis.kill();
  await eventually(() => load.endings.has("ledger_unavailable") || undefined, "a refusal");
  await redis.start();
  await load.progress(50);
  await Promise.all([0, 1, 2, 3].map((at) => fleet.kill(at)));
  await Promise.all([0, 1, 2, 3].map((at) => fleet.start(at)));
  await load.progress(50);
  await load.stop();
  await expectNothingLost(fleet, account, credit, load);
});

it("a balance runs out under load through four processes, and is never overspent", async () => {
  const account = await fleet.account(1);
  const load = startLoad(fleet, account, randomFrom(2), 16);
  await load.progress(20);
  await load.stop();
  await expectNothingLost(fleet, account, 1, load);
});
