// A Redis that is full: new calls are refused before anybody is asked, running ones are still charged.
import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { redisLedger } from "../../src/ledger/redis-ledger.ts";
import { openRedis, type RedisLink } from "../../src/storage/redis-link.ts";
import { CENT, holdRequest, newAccount, postRequest } from "../ledger/requests.ts";
import { REDIS_MS_MAX, type RedisServer, startRedis } from "../support/redis.ts";

let redis: RedisServer;
let link: RedisLink;
beforeAll(async () => {
  redis = await startRedis();
  link = await openRedis(redis.url, { onBroken: () => {} });
}, REDIS_MS_MAX);
afterAll(async () => {
  await link.close();
  await redis.dispose();
});

it("refuses new holds; those that are there are posted, voided and swept", async () => {
  const ledger = redisLedger({ link, clock: systemClock, leaseMs: 60_000 });
  await ledger.openAccount(newAccount("ada", 100));
  const hold = (id: string, cents: number) => ({ accountId: "ada", holdId: id, cents, nowMs: systemClock.epochMs() });
  for (const id of ["one", "two"]) await ledger.reserve(holdRequest(hold(id, 3)));
  await redis.send("CONFIG", "SET", "maxmemory", "1");
  await expect(ledger.reserve(holdRequest(hold("three", 3)))).rejects.toMatchObject({ code: "ledger_unavailable" });
  expect(await ledger.post(postRequest(hold("one", 2)))).toMatchObject({ outcome: "posted", chargedNano: 2 * CENT });
  expect(await ledger.void(hold("two", 0), "failed")).toEqual({ outcome: "voided" });
  await redis.send("CONFIG", "SET", "maxmemory", "0");
  expect(await ledger.account("ada")).toMatchObject({ spentNano: 2 * CENT, heldNano: 0 });
  expect((await ledger.doctor()).findings).toEqual([]);
});
