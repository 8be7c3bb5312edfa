// The end of a day with four gateways' ledgers over one Redis: a ceiling is exact on both sides of midnight, and so is a minute's window.
import { afterAll, beforeAll, expect, it } from "vitest";
import { nano } from "../../src/core/money.ts";
import type { ReserveOutcome, ReserveRequest, SharedLedger } from "../../src/money/ledger/model/ledger.ts";
import { redisLedger } from "../../src/money/ledger/redis/ledger.ts";
import type { RedisLink } from "../../src/platform/storage/redis-link.ts";
import { CENT, holdRequest, newAccount, newKey, postRequest } from "../money/ledger/requests.ts";
import { manualClock } from "../support/manual-clock.ts";
import { anyRedis, type LentRedis, openLink, REDIS_MS_MAX } from "../support/redis.ts";

// Processes cannot share a manual clock, so these are four connections of this process, whose clock replaces the server's.
const SIZE = 4;
const LEASE_MS = 60_000;
const CALLS = 512;
const BEFORE_MIDNIGHT_MS = Date.UTC(2026, 10, 30, 23, 59, 59, 999);

let redis: LentRedis;
let links: RedisLink[];
beforeAll(async () => {
  redis = await anyRedis();
  links = await Promise.all(Array.from({ length: SIZE }, () => openLink(redis.url)));
}, REDIS_MS_MAX);
afterAll(async () => {
  await Promise.all(links.map((link) => link.close()));
  await redis.dispose();
});

const clock = manualClock(BEFORE_MIDNIGHT_MS);
const ledgers = (): SharedLedger[] =>
  links.map((link) => redisLedger({ link, clock, clockIsServers: true, leaseMs: LEASE_MS }));

/** Holds of one cent each through all ledgers at once, each posted as soon as it is placed. Meanwhile the clock moves on. */
async function runAcross(accountId: string, stepMs: number, more: Partial<ReserveRequest> = {}) {
  const all = ledgers();
  const outcomes: ReserveOutcome["outcome"][][] = [[], []];
  const call = async (at: number, side: number): Promise<void> => {
    const ledger = all[at % SIZE] as SharedLedger;
    const hold = { accountId, holdId: `${accountId}.${side}.${at}`, cents: 1 };
    const { outcome } = await ledger.reserve(holdRequest({ ...hold, nowMs: clock.epochMs() }, more));
    outcomes[side]?.push(outcome);
    if (outcome === "held") await ledger.post(postRequest(hold));
  };
  const calls = (side: number) => Array.from({ length: CALLS }, (_, at) => call(at, side));
  const before = calls(0);
  clock.advance(stepMs);
  await Promise.all([...before, ...calls(1)]);
  const report = await (all[0] as SharedLedger).doctor();
  const [primary] = await (all[0] as SharedLedger).keys(accountId);
  const held = outcomes.flat().filter((one) => one === "held").length;
  return { held, outcomes: new Set(outcomes.flat()), spentSince: primary?.periodSpentNano, findings: report.findings };
}

it.each(["day", "month"] as const)(
  "a ceiling of 100 a %s lets 100 in before midnight, and 100 after",
  async (ceilingPeriod) => {
    const accountId = `ceiling-${ceilingPeriod}`;
    clock.setEpochMs(BEFORE_MIDNIGHT_MS);
    const primaryKey = newKey(`${accountId}.key`, { ceilingNano: nano(100 * CENT), ceilingPeriod });
    await ledgers()[0]?.openAccount(newAccount(accountId, 10_000, { primaryKey }));
    // A call after one of the new day counts for the new day: an account's time never goes back.
    const { spentSince, ...seen } = await runAcross(accountId, 1);
    expect(seen).toEqual({ held: 200, outcomes: new Set(["held", "ceiling"]), findings: [] });
    expect(spentSince).toBe(100 * CENT);
  },
);

it("a window of 100 calls a minute lets 100 in before the minute ends, and 100 after", async () => {
  clock.setEpochMs(BEFORE_MIDNIGHT_MS);
  await ledgers()[0]?.openAccount(newAccount("window", 10_000));
  const { held, outcomes } = await runAcross("window", 1, { window: { limit: 100, seconds: 60 } });
  expect([held, outcomes]).toEqual([200, new Set(["held", "window"])]);
});
