// Calls per minute, counted in memory and over Redis: never more than the limit, whichever process asks.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CallRates, memoryRates } from "../../../src/platform/limits/call-rates.ts";
import { redisRates } from "../../../src/platform/limits/redis-rates.ts";
import { RATES_UNIT, threadRates } from "../../../src/platform/limits/thread-rates.ts";
import type { RedisLink } from "../../../src/platform/storage/redis-link.ts";
import { openRemoteThread } from "../../../src/platform/storage/remote-thread.ts";
import { openSqliteThread } from "../../../src/platform/storage/sqlite-thread.ts";
import type { SqliteThread } from "../../../src/platform/storage/thread-client.ts";
import { NO_BOUNDS } from "../../money/ledger/store.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { anyRedis, openLink, REDIS_MS_MAX } from "../../support/redis.ts";
import { removeFolder } from "../../support/remove-folder.ts";
import type { MortalOperations } from "../storage/mortal-unit.ts";

const MORTAL = new URL("../storage/mortal-unit.ts", import.meta.url);
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

/** Several processes in turn. */
function byTurns(own: readonly CallRates[]): CallRates {
  let next = 0;
  const turn = () => own[next++ % own.length] as CallRates;
  return { take: (...asked) => turn().take(...asked), giveBack: (...asked) => turn().giveBack(...asked) };
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

describe("in the storage thread of another process", () => {
  const clock = manualClock(Date.UTC(2026, 4, 6, 12));
  const folder = mkdtempSync(join(tmpdir(), "tollgate-rates-"));
  const [file, socket] = [join(folder, "tollgate.db"), join(folder, "store/socket")];
  const onFatal = (error: Error) => console.error("the store broke:", error);
  const threads: SqliteThread[] = [];
  beforeAll(async () => {
    const options = {
      file,
      units: { rates: RATES_UNIT, mortal: MORTAL },
      clock,
      disk: NO_BOUNDS,
      sharing: "readers",
      onFatal,
    } as const;
    const kept = await openSqliteThread({ ...options, serve: socket });
    const child = (owner: string) => openRemoteThread({ socket, file, owner, clock, onNews() {}, onFatal });
    threads.push(await child("a"), await child("b"), kept);
  });
  afterAll(async () => {
    for (const thread of threads) await thread.close();
    removeFolder(folder);
  });
  contract(() => byTurns(threads.map(threadRates)));

  test("counts nothing of a batch that is rolled back", async () => {
    const [thread] = threads as [SqliteThread];
    const rates = threadRates(thread);
    const outcome = await rates.take("e", [taken("x", 4)]);
    const minute = "minute" in outcome ? outcome.minute : 0;
    // In one batch, which then runs again without the failing operation.
    const fail = thread.unit<MortalOperations>("mortal")("fail", null);
    const batch = [rates.take("e", [taken("x", 4)]), rates.giveBack("e", minute, [taken("x", 1)]), fail];
    expect((await Promise.allSettled(batch)).map(({ status }) => status)).toEqual([
      "fulfilled",
      "fulfilled",
      "rejected",
    ]);
    expect(await rates.take("e", [taken("x", 4)])).toHaveProperty("full");
    expect(await rates.take("e", [taken("x", 3)])).toHaveProperty("minute");
  });
});

describe("over Redis", () => {
  let redis: Awaited<ReturnType<typeof anyRedis>>;
  let links: RedisLink[];
  beforeAll(async () => {
    redis = await anyRedis();
    links = await Promise.all([openLink(redis.url), openLink(redis.url)]);
  }, REDIS_MS_MAX);
  afterAll(async () => {
    await Promise.all(links.map((link) => link.close()));
    await redis.dispose();
  });
  /** Two processes in turn, with names unique to the run. */
  contract(() => byTurns(links.map(redisRates)));
});
