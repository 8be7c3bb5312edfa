// What Redis still knows, and still answers, about postings that have moved to the archive.
import { afterAll, describe, expect, test } from "vitest";
import { nano } from "../../../../src/core/money.ts";
import { DAY_MS } from "../../../../src/money/ledger/model/windows.ts";
import { CENT, holdRequest, newKey, postRequest } from "../requests.ts";
import { LEASE_MS, only, openArchiveStage } from "./stage.ts";

const { link, clock, ledger, exporter, account, charges, findings, dispose } = await openArchiveStage();
afterAll(dispose);

describe("once a charge is in the archive", () => {
  test("what is repeated late answers as before, with Redis' mark and after that is gone", async () => {
    const accountId = await account();
    await charges(accountId, 1, 2);
    await exporter().flush(only(accountId));
    const hold = { accountId, holdId: `${accountId}.1`, cents: 1, nowMs: clock.epochMs() };
    const posted = { outcome: "posted", repeat: true, chargedNano: CENT, chargedCents: 1, absorbedNano: 0 };
    const balanceNano = 998 * CENT;
    const origin = { ...holdRequest(hold), idempotency: null };
    const repeat = async () => {
      expect(await ledger.post(postRequest(hold))).toEqual({ ...posted, balanceNano });
      expect(await ledger.settleOrphan(postRequest(hold), origin, "orphan")).toEqual({ ...posted, balanceNano });
      expect(await ledger.voidOrphan(hold, {}, origin)).toEqual({ outcome: "posted" });
      expect(await ledger.holdState(hold)).toBe("posted");
    };
    expect(await ledger.reserve(holdRequest(hold))).toEqual({ outcome: "exists", state: "posted" });
    expect(await ledger.extend(hold, nano(0), nano(0), LEASE_MS)).toEqual({ outcome: "gone", state: "posted" });
    expect(await ledger.void(hold, "late")).toEqual({ outcome: "posted" });
    await repeat();
    const mark = `{a:${accountId}}:c:${hold.holdId}`;
    expect(Number(await link.call("PTTL", mark))).toBeGreaterThan(5.9 * 3_600_000);
    await link.call("DEL", mark);
    await repeat();
    expect(await ledger.account(accountId)).toMatchObject({ spentNano: 2 * CENT, heldNano: 0 });
    expect(await findings()).toEqual([]);
  });

  test("it can be refunded, once, wherever the refund is by then", async () => {
    const accountId = await account();
    await charges(accountId, 1, 2);
    await exporter().flush(only(accountId));
    const id = `${accountId}.1`;
    const refund = { outcome: "refunded", refundId: `${id}.r`, amountNano: CENT };
    expect(await ledger.refund(id, `${id}.r`, "wrong")).toEqual(refund);
    expect(await findings()).toEqual([]);
    await exporter().flush(only(accountId));
    expect(await ledger.refund(id, `${id}.r2`, "wrong")).toEqual({ ...refund, outcome: "exists" });
    expect(await ledger.topUp(accountId, "t", nano(CENT), "opening credit")).toMatchObject({ outcome: "exists" });
    expect(await ledger.account(accountId)).toMatchObject({ grantedNano: 1_001 * CENT });
    expect(await findings()).toEqual([]);
  });
});

test("day sums that no ceiling asks for any more leave Redis; the others stay, and the doctor adds up both", async () => {
  const accountId = await account();
  const days = `{a:${accountId}}:b`;
  await charges(accountId, 1, 2);
  const jobs = { accountId, holdId: `${accountId}.job`, cents: 5, nowMs: clock.epochMs() };
  const second = `${accountId}.second`;
  await ledger.createKey(accountId, newKey(second));
  await ledger.reserve(holdRequest(jobs, { keyId: second, inference: false, leaseMs: 200 * DAY_MS, owner: "job:1" }));
  const firstDay = Math.floor(clock.epochMs() / DAY_MS);
  // A key that remembers a month, and is no longer used.
  const third = `${accountId}.third`;
  await ledger.createKey(accountId, newKey(third));
  await ledger.patchKey(accountId, third, { ceilingNano: nano(100 * CENT), ceilingPeriod: "month" });
  const pastSpent = async () => {
    const past = (await link.call("HGET", `{a:${accountId}}:k`, `${third}:past`)) as string | null;
    return Number(past?.split(" ")[2] ?? 0);
  };
  for (let day = 1; (await pastSpent()) === 0; day++) {
    const hold = { accountId, holdId: `${accountId}.third.${day}`, cents: 1, nowMs: clock.epochMs() };
    await ledger.reserve(holdRequest(hold, { keyId: third, inference: false }));
    await ledger.post(postRequest(hold));
    clock.advance(DAY_MS);
  }
  const fromDay = Math.floor(clock.epochMs() / DAY_MS);
  // Half a year in steps that a clock guard accepts.
  for (let month = 1; month <= 4; month++) {
    clock.advance(30 * DAY_MS);
    await charges(accountId, 10 * month, 10 * month + 1);
    await exporter().flush(only(accountId));
  }
  const names = (await link.call("HKEYS", days)) as string[];
  expect(names.filter((name) => name.includes(`.key:${firstDay}`))).toEqual([]);
  expect(names).toContain(`key:${second}:${firstDay}h`);
  expect(names).toContain(`inference:${fromDay + 60}s`);
  await ledger.patchKey(accountId, `${accountId}.key`, { ceilingNano: nano(10 * CENT), ceilingPeriod: "month" });
  const key = (await ledger.keys(accountId)).find(({ primary }) => primary);
  expect(key?.periodSpentNano).toBe(2 * CENT);
  expect(await pastSpent()).toBeGreaterThan(0);
  expect(await findings()).toEqual([]);
  await ledger.void(jobs, "done");
  await exporter().flush(only(accountId));
  expect(await findings()).toEqual([]);
});

test("what a finished call takes of Redis' memory is bounded, and little once it is archived", async () => {
  const accountId = await account();
  await charges(accountId, 1, 1);
  await exporter().flush(only(accountId));
  const keys = async () => {
    const found: string[] = [];
    for await (const key of link.keys()) if (key.startsWith(`{a:${accountId}}`)) found.push(key);
    return found;
  };
  const bytes = async () => {
    const sizes = await Promise.all((await keys()).map((key) => link.call("MEMORY", "USAGE", key, "SAMPLES", "0")));
    return sizes.reduce<number>((sum, size) => sum + Number(size), 0);
  };
  const before = await bytes();
  expect(before).toBeLessThan(3_300);
  await charges(accountId, 2, 101);
  expect((await bytes()) - before).toBeLessThan(100 * 1_000);
  await exporter().flush(only(accountId));
  expect((await bytes()) - before).toBeLessThan(100 * 200);
  // Only a call's mark is left, and it expires.
  expect((await keys()).filter((key) => key.includes(":c:"))).toHaveLength(101);
  // Besides it the account, its keys and spend, and its pending events, which no process takes here.
  expect(await keys()).toHaveLength(101 + 4);
});
