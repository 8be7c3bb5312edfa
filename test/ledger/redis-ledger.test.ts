import { openRedis } from "../../src/storage/redis-link.ts";
import { anyRedis, startRedisCluster } from "../support/redis.ts";
import { ledgerContract } from "./contract.ts";
import { modelSuite } from "./model-suite.ts";
import { redisStore } from "./redis-store.ts";

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
modelSuite("redis", single, 40);
