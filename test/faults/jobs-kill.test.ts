// The same as in test/jobs, for longer, and over Redis as well.
import { expect, it } from "vitest";
import { killLoop } from "../jobs/kill-loop.ts";
import { startRedis } from "../support/redis.ts";

it("thirty kills over the embedded store: every launch that was told of ends, and is paid once", async () => {
  expect(await killLoop(30, 20)).toBeGreaterThanOrEqual(600);
});

it.each([
  ["six kills over Redis, of processes that only a lease tells dead", 6, false],
  ["four kills over Redis, each of a process that launches and of one that runs what it launches", 4, true],
])("%s", async (_, kills, parted) => {
  const redis = await startRedis();
  try {
    expect(await killLoop(kills, 20, redis.url, parted)).toBeGreaterThanOrEqual(kills * 20);
  } finally {
    await redis.dispose();
  }
});
