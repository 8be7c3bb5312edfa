// A session closed at exactly the hour or midnight, while its next hold is being placed: every minute is paid once and on its own day,
// nothing stays held, and the vendor's machine is gone.
import { afterEach, describe, expect, it } from "vitest";
import type { AccountPayer } from "../../src/core/plan.ts";
import { UNPAID_SCOPE } from "../../src/kernel/windows.ts";
import {
  cents,
  MINUTE_MS,
  moneyOf,
  type SessionProcess,
  type SessionStage,
  sessionStage,
} from "../actions/sessions/stage.ts";
import { eventually } from "../support/gateway.ts";

let stage: SessionStage;
let process: SessionProcess;
let payer: AccountPayer;
afterEach(async () => {
  expect((await stage.ledger.doctor()).findings).toEqual([]);
  await stage.dispose();
});

const DAY = Date.UTC(2026, 2, 12);
const MOMENTS = [
  ["an hour", DAY + 10 * 60 * MINUTE_MS, 60],
  ["midnight", DAY + (23 * 60 + 30) * MINUTE_MS, 30],
] as const;
const DELTAS = [-1, 0, 1] as const;
const ALL = { accountId: "ada", keyId: null, limit: 100, cursor: null } as never;

/** A session at one cent a minute, started this many minutes before the moment. */
async function begun(startMs: number, minutes: number, deltaMs: number): Promise<string> {
  stage = await sessionStage({}, startMs);
  process = await stage.process();
  payer = await stage.account("ada", 1_000);
  const id = await process.create({}, null, payer);
  if (typeof id !== "string") throw id;
  await stage.minutes(minutes - 1);
  stage.clock.advance(MINUTE_MS + deltaMs);
  return id;
}

/** What must be true of every session that has ended, however it did. */
async function expectPaid(id: string, least: number): Promise<void> {
  const job = await stage.over(process, id, payer);
  const { minutes = 0 } = { ...(job.end?.result as object) } as { minutes?: number };
  expect([least, least + 1]).toContain(minutes);
  expect(await moneyOf(stage, payer)).toEqual({ spent: minutes, held: 0 });
  expect(job.chargedCents).toBe(minutes);
  const charges = (await stage.ledger.transactions(ALL)).rows.filter(({ kind }) => kind === "charge");
  expect(charges.reduce((sum, { amountNano }) => sum + amountNano, 0)).toBe(cents(minutes));
  // No hold leaves us with more than it was charged.
  expect(charges.filter(({ upstreamNano, amountNano }) => upstreamNano > amountNano)).toEqual([]);
  expect(await stage.ledger.spentToday("ada", [UNPAID_SCOPE])).toEqual([0]);
  expect(stage.vendor.boxes.size).toBe(0);
}

describe.each(MOMENTS)("at %s", (_, startMs, minutes) => {
  describe.each(DELTAS)("and %d ms", (deltaMs) => {
    it("a close that comes before the tick", async () => {
      const id = await begun(startMs, minutes, deltaMs);
      await process.call("close", { session_id: id }, payer);
      await expectPaid(id, minutes);
    });

    it("a close that comes with the tick", async () => {
      const id = await begun(startMs, minutes, deltaMs);
      await Promise.all([stage.minutes(1, 0), process.call("close", { session_id: id }, payer)]);
      await expectPaid(id, minutes);
    });

    it("ten closes at once, and the tick among them", async () => {
      const id = await begun(startMs, minutes, deltaMs);
      const close = () => process.call("close", { session_id: id }, payer);
      await Promise.all([
        ...Array.from({ length: 5 }, close),
        stage.minutes(1, 0),
        ...Array.from({ length: 5 }, close),
      ]);
      await expectPaid(id, minutes);
    });

    it("a process that dies, and a close at the next one", async () => {
      const id = await begun(startMs, minutes, deltaMs);
      await Promise.all([stage.minutes(1, 0), process.die()]);
      process = await stage.process();
      await eventually(() => (process.jobs.running() === 1 ? true : undefined), "its adoption");
      await process.call("close", { session_id: id }, payer);
      await expectPaid(id, minutes);
    });
  });
});

it("what is used after midnight counts in the new day alone, whenever it was paid", async () => {
  stage = await sessionStage({}, DAY + (23 * 60 + 50) * MINUTE_MS);
  process = await stage.process();
  payer = await stage.account("ada", 1_000);
  const id = await process.create({}, null, payer);
  if (typeof id !== "string") throw id;
  await stage.minutes(25);
  await process.call("close", { session_id: id }, payer);
  const ofDay = async () => Number((await stage.ledger.spentToday("ada", ["key:ada.key"]))[0]) / cents(1);
  const all = (await moneyOf(stage, payer)).spent;
  expect(all).toBe(25);
  expect(await ofDay()).toBe(15);
});
