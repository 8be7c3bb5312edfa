import { manualClock } from "../../src/clock.ts";
import { redisRecords } from "../../src/records/redis-records.ts";
import { openRedis } from "../../src/storage/redis-link.ts";
import { anyRedis, REDIS_MS_MAX, startRedisCluster } from "../support/redis.ts";
import { recordsContract } from "./contract.ts";

const silent = { onBroken() {} };

for (const [name, start] of [
  ["redis", anyRedis],
  ["redis cluster", startRedisCluster],
] as const) {
  recordsContract(
    name,
    async () => {
      const server = await start();
      const clock = manualClock(Date.UTC(2026, 0, 1));
      let link = await openRedis(server.url, silent);
      let records = redisRecords(link, clock);
      return {
        clock,
        get records() {
          return records;
        },
        async reopen() {
          await link.close();
          link = await openRedis(server.url, silent);
          records = redisRecords(link, clock);
          return records;
        },
        async dispose() {
          await link.close();
          await server.dispose();
        },
      };
    },
    REDIS_MS_MAX,
  );
}
