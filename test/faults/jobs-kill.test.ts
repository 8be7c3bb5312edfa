// The same as in test/actions/jobs, for longer, and also over Redis.
import { expect, it } from "vitest";
import { killLoop } from "../actions/jobs/kill-loop.ts";
import { anyRedis } from "../support/redis.ts";

it("thirty kills over the embedded store: every launch that was told of ends, and is paid once", async () => {
  expect(await killLoop(30, 20)).toBeGreaterThanOrEqual(600);
});

async function killedOverRedis(kills: number, parted: boolean): Promise<number> {
  const redis = await anyRedis();
  try {
    return await killLoop(kills, 20, redis.url, parted);
  } finally {
    await redis.dispose();
  }
}

it("six kills over Redis, of processes that only a lease tells dead", async () => {
  expect(await killedOverRedis(6, false)).toBeGreaterThanOrEqual(120);
});

it("four kills over Redis, each of a process that launches and of one that runs what it launches", async () => {
  expect(await killedOverRedis(4, true)).toBeGreaterThanOrEqual(80);
});
