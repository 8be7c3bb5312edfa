// The same as in test/jobs, for longer, and over Redis as well.
import { expect, it } from "vitest";
import { killLoop } from "../jobs/kill-loop.ts";
import { startRedis } from "../support/redis.ts";

it("thirty kills over the embedded store: every launch that was told of ends, and is paid once", async () => {
  expect(await killLoop(30, 20)).toBeGreaterThanOrEqual(600);
});

it("ten kills over Redis, of processes that only a lease tells dead", async () => {
  const redis = await startRedis();
  try {
    expect(await killLoop(10, 20, redis.url)).toBeGreaterThanOrEqual(200);
  } finally {
    await redis.dispose();
  }
});
