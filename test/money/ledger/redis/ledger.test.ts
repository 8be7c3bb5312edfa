import { expect, test } from "vitest";
import { openRedis } from "../../../../src/platform/storage/redis-link.ts";
import { anyRedis, REDIS_MS_MAX, startRedisCluster } from "../../../support/redis.ts";
import { lateContract } from "../contract/late.ts";
import { ledgerContract } from "../contract/ledger.ts";
import { modelSuite } from "../model/suite.ts";
import { holdRequest, newAccount } from "../requests.ts";
import { redisStore } from "./store.ts";

async function openOn(server: { readonly url: string; dispose(): Promise<void> }) {
  const onBroken = (error: unknown) => console.error("redis:", error);
  const link = await openRedis(server.url, { onBroken, commandMsMax: 5_000 });
  return redisStore(link, async () => {
    await link.close();
    await server.dispose();
  });
}

const single = async () => openOn(await anyRedis());
ledgerContract("redis", single);
ledgerContract("redis cluster", async () => openOn(await startRedisCluster()));
lateContract("redis", single);
lateContract("redis cluster", async () => openOn(await startRedisCluster()));
modelSuite("redis", single, 40);

test(
  "a short lease that is placed just after its account was looked at ends with the next sweep",
  async () => {
    const store = await single();
    try {
      await store.ledger.openAccount(newAccount("ada", 100));
      for (const holdId of ["one", "two"]) {
        const hold = { accountId: "ada", holdId, cents: 1, nowMs: store.clock.epochMs() };
        await store.ledger.reserve(holdRequest(hold, { leaseMs: 5_000 }));
        store.clock.advance(5_000);
        expect(await store.ledger.sweep(100)).toEqual([holdId]);
      }
    } finally {
      await store.dispose();
    }
  },
  REDIS_MS_MAX,
);
