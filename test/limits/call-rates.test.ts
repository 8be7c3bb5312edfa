// What calls take of a minute, in memory and over Redis: never more than the limit, whoever asks.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { manualClock } from "../../src/clock.ts";
import { type CallRates, memoryRates } from "../../src/limits/call-rates.ts";
import { redisRates } from "../../src/limits/redis-rates.ts";
import type { RedisLink } from "../../src/storage/redis-link.ts";
import { anyRedis, openLink, REDIS_MS_MAX } from "../support/redis.ts";

const taken = (name: string, amount: number, limit = 10) => ({ name, limit, amount });

function contract(open: () => CallRates): void {
  test("takes all of a list or nothing, and says which had no room", async () => {
    const rates = open();
    expect(await rates.take("a", [taken("x", 8), taken("y", 1)])).toEqual({ minute: expect.any(Number) });
    expect(await rates.take("a", [taken("y", 1), taken("x", 3)])).toEqual({
      full: 1,
      resetSeconds: expect.any(Number),
    });
    expect(await rates.take("a", [taken("y", 9), taken("x", 2)])).toHaveProperty("minute");
    expect(await rates.take("b", [taken("x", 10)])).toHaveProperty("minute");
  });

  test("gives back what was not used, of the minute that it was taken in alone", async () => {
    const rates = open();
    const outcome = await rates.take("c", [taken("x", 10)]);
    const minute = "minute" in outcome ? outcome.minute : 0;
    await rates.giveBack("c", minute - 1, [taken("x", 10)]);
    expect(await rates.take("c", [taken("x", 1)])).toHaveProperty("full");
    await rates.giveBack("c", minute, [taken("x", 4)]);
    expect(await rates.take("c", [taken("x", 5)])).toHaveProperty("full");
    expect(await rates.take("c", [taken("x", 4)])).toHaveProperty("minute");
  });

  test("lets no more through at once than there is room for", async () => {
    const rates = open();
    const all = await Promise.all(Array.from({ length: 40 }, () => rates.take("d", [taken("x", 1)])));
    expect(all.filter((one) => "minute" in one)).toHaveLength(10);
  });
}

describe("in memory", () => {
  const clock = manualClock(Date.UTC(2026, 4, 6, 12));
  const rates = memoryRates(clock);
  contract(() => rates);

  test("a minute that ends takes its counts along; a clock that is set back does not", async () => {
    await rates.take("e", [taken("x", 10)]);
    clock.setEpochMs(clock.epochMs() - 120_000);
    expect(await rates.take("e", [taken("x", 1)])).toHaveProperty("full");
    clock.advance(180_001);
    expect(await rates.take("e", [taken("x", 10)])).toHaveProperty("minute");
  });
});

describe("over Redis", () => {
  let redis: Awaited<ReturnType<typeof anyRedis>>;
  let links: RedisLink[];
  let next = 0;
  beforeAll(async () => {
    redis = await anyRedis();
    links = await Promise.all([openLink(redis.url), openLink(redis.url)]);
  }, REDIS_MS_MAX);
  afterAll(async () => {
    await Promise.all(links.map((link) => link.close()));
    await redis.dispose();
  });
  /** Two processes by turns, and names of a run of its own. */
  contract(() => {
    const own = links.map(redisRates);
    const turn = () => own[next++ % own.length] as CallRates;
    return { take: (...asked) => turn().take(...asked), giveBack: (...asked) => turn().giveBack(...asked) };
  });
});
