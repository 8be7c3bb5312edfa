// Events of accounts in Redis: the dispatcher checks the accounts that were named, all of them once at first, and misses nothing.
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { redisLedger } from "../../../../src/money/ledger/redis/ledger.ts";
import type { LedgerLink } from "../../../../src/money/ledger/redis/script.ts";
import { openRedis } from "../../../../src/platform/storage/redis-link.ts";
import { eventually } from "../../../support/gateway.ts";
import { LEASE_MS, request, startSpooled } from "../spool/spooled.ts";

it("an account that something is told of is found without looking at all accounts, also after its events were dropped", async () => {
  const { other, redis } = await startSpooled();
  const link = await openRedis(redis.url, { onBroken: () => {}, commandMsMax: 5_000 });
  onTestFinished(() => link.close());
  let scans = 0;
  const counting: LedgerLink = {
    ...link,
    call: (command, ...args) => {
      if (command === "ZSCAN") scans += 1;
      return link.call(command, ...args);
    },
  };
  const ledger = redisLedger({ link: counting, clock: systemClock, leaseMs: LEASE_MS, hear: link.subscribe });
  const settled = await eventually(async () => {
    const before = scans;
    await ledger.events(100);
    return scans === before ? scans : undefined;
  }, "a look that scans nothing");
  await other.reserve(request("tx_a", 1));
  const told = await eventually(async () => {
    const found = await ledger.events(100);
    return found.length > 0 ? found : undefined;
  }, "the event");
  expect(told.map(({ kind, accountId }) => [kind, accountId])).toEqual([["key.first_use", "ada"]]);
  expect(await ledger.events(100)).toEqual(told);
  await ledger.dropEvents(told);
  expect(await ledger.events(100)).toEqual([]);
  expect(await ledger.events(100)).toEqual([]);
  expect(scans).toBe(settled);
});
