// A session's price per minute, how it is paid, and every way in which it ends, as the ledger and the vendor see it.
import { afterEach, describe, expect, it } from "vitest";
import type { SessionSpec } from "../../../src/catalog/adapter.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { AccountPayer } from "../../../src/core/plan.ts";
import { newKey } from "../../money/ledger/requests.ts";
import { eventually } from "../../support/gateway.ts";
import { cents, fails, MINUTE_MS, moneyOf, type SessionProcess, type SessionStage, sessionStage } from "./stage.ts";

let stage: SessionStage;
let process: SessionProcess;
let payer: AccountPayer;
afterEach(async () => {
  expect((await stage.ledger.doctor()).findings).toEqual([]);
  await stage.dispose();
});

/** Opens a session at one cent a minute, at 10:00, with this many cents. */
async function open(credit: number, more: Partial<SessionSpec> = {}, startMs?: number): Promise<void> {
  stage = await sessionStage(more, startMs);
  process = await stage.process();
  payer = await stage.account("ada", credit);
}

async function created(maxCents: number | null = null): Promise<string> {
  const id = await process.create({}, maxCents === null ? null : cents(maxCents), payer);
  if (typeof id !== "string") throw id;
  return id;
}

const endOf = async (id: string) => {
  const job = await stage.over(process, id, payer);
  return { ...(job.end?.result as object), cents: job.chargedCents };
};
const postings = async () => (await stage.ledger.transactions(ALL)).rows.filter(({ kind }) => kind === "charge");
const ALL = { accountId: "ada", keyId: null, limit: 100, cursor: null } as never;

describe("a session's minutes", () => {
  it("are paid before they begin, thirty ahead, with one operation of the ledger each", async () => {
    await open(1_000);
    const id = await created();
    expect(await moneyOf(stage, payer)).toEqual({ spent: 0, held: 30 });
    stage.operations.clear();
    await stage.minutes(10);
    expect(Object.fromEntries(stage.operations)).toEqual({ extend: 10 });
    expect(await moneyOf(stage, payer)).toEqual({ spent: 0, held: 40 });
    stage.clock.advance(MINUTE_MS / 2);
    expect(await process.call("close", { session_id: id }, payer)).toMatchObject({ ended: "closed", minutes: 11 });
    expect(await moneyOf(stage, payer)).toEqual({ spent: 11, held: 0 });
    expect(stage.vendor.boxes.size).toBe(0);
    const [posting] = await postings();
    expect(posting).toMatchObject({ provider: "acme", served: "acme/create_session", upstreamNano: cents(8.8) });
  });

  it("count from one, however soon it is closed", async () => {
    await open(100);
    const id = await created();
    await process.call("close", { session_id: id }, payer);
    expect(await endOf(id)).toMatchObject({ ended: "closed", minutes: 1, cents: 1 });
  });

  it("are posted each hour, under one parent, and counted in the windows of their own day", async () => {
    await open(1_000, {}, Date.UTC(2026, 2, 12, 22, 30));
    const id = await created();
    await stage.minutes(91);
    // An hour ended at 23:30, a day at midnight.
    expect((await postings()).map(({ amountNano }) => amountNano / 1e7)).toEqual([30, 60]);
    expect(await moneyOf(stage, payer)).toEqual({ spent: 90, held: 31 });
    await process.call("close", { session_id: id }, payer);
    const [last, second, first] = await postings();
    expect(last).toMatchObject({ amountNano: cents(1), parentId: first?.transactionId });
    expect(second).toMatchObject({ parentId: first?.transactionId });
    expect(await endOf(id)).toMatchObject({ minutes: 91, cents: 91 });
  });

  it("are those in which a command ran, where it is metered so, and idle ones cost nothing", async () => {
    await open(1_000, { metered: "busy" });
    const id = await created();
    const { promise: running, resolve: done } = Promise.withResolvers<void>();
    stage.vendor.prints = async () => running.then(() => ({ stdout: "", stderr: "", exit_code: 0 }));
    await stage.minutes(5);
    const ran = process.call("session", { session_id: id, command: "make", timeout: 300 }, payer);
    await eventually(() => (stage.vendor.asked.includes("run") ? true : undefined), "the command");
    await stage.minutes(3);
    done();
    await ran;
    await stage.minutes(40);
    await process.call("close", { session_id: id }, payer);
    expect(await endOf(id)).toMatchObject({ ended: "closed", minutes: 3, cents: 3 });
  });

  it("go on in another process, from where they were, and are paid once", async () => {
    await open(1_000);
    const id = await created();
    await stage.minutes(40);
    await process.die();
    await stage.minutes(10);
    process = await stage.process();
    await eventually(() => (process.jobs.running() === 1 ? true : undefined), "its adoption");
    await stage.minutes(25);
    await process.call("close", { session_id: id }, payer);
    expect(await endOf(id)).toMatchObject({ ended: "closed", minutes: 75, cents: 75 });
    expect(await moneyOf(stage, payer)).toEqual({ spent: 75, held: 0 });
    expect(stage.vendor.boxes.size).toBe(0);
  });

  it("that a process dies over between two holds are charged once", async () => {
    await open(1_000);
    const id = await created();
    await stage.minutes(59);
    const job = await stage.job(process, id, payer);
    // The next hold is placed, the old one is posted, and then the process dies.
    const succeeding = {
      chargeNano: cents(60),
      served: { provider: "acme", action: "acme/create_session", upstreamNano: cents(48) },
      nextId: `${job?.hold.holdId}-2`,
      nextNano: cents(30),
    };
    await process.die();
    const kept = await stage.records.get("job", String(job?.id));
    const value = JSON.stringify({ ...JSON.parse(String(kept?.value)), succeeding });
    await stage.records.put({ kind: "job", id: String(job?.id), payer: payer.id, value, ttlMs: null, ifVersion: null });
    await stage.minutes(1);
    process = await stage.process();
    await eventually(() => (process.jobs.running() === 1 ? true : undefined), "its adoption");
    await stage.minutes(5);
    await process.call("close", { session_id: id }, payer);
    expect(await endOf(id)).toMatchObject({ minutes: 65, cents: 65 });
    expect((await postings()).map(({ amountNano }) => amountNano / 1e7)).toEqual([5, 60]);
  });
});

describe("a session ends by itself", () => {
  it("when its payer runs dry: it is closed at the vendor, and charged for what ran", async () => {
    await open(37);
    const id = await created();
    await stage.minutes(36);
    expect(stage.vendor.boxes.size).toBe(1);
    await stage.minutes(1);
    expect(await endOf(id)).toMatchObject({ ended: "no_money", minutes: 37, cents: 37 });
    expect(await moneyOf(stage, payer)).toEqual({ spent: 37, held: 0 });
    expect(stage.vendor.boxes.size).toBe(0);
  });

  it("at its key's ceiling", async () => {
    await open(1_000);
    payer = { ...payer, keyId: "ada.agent" };
    const ceiling = { ceilingNano: cents(33), ceilingPeriod: "day" } as const;
    await stage.ledger.createKey("ada", newKey("ada.agent", ceiling));
    const id = await created();
    await stage.minutes(33);
    expect(await endOf(id)).toMatchObject({ ended: "no_money", minutes: 33, cents: 33 });
  });

  it("at its max_cost_cents, which it never exceeds", async () => {
    await open(1_000);
    const id = await created(32.5);
    await stage.minutes(32);
    expect(await endOf(id)).toMatchObject({ ended: "max_cost", minutes: 32, cents: 32 });
  });

  it("when its time is over", async () => {
    await open(1_000, { minutesMax: 70 });
    const id = await created();
    await stage.minutes(70);
    expect(await endOf(id)).toMatchObject({ ended: "time", minutes: 70, cents: 70 });
  });

  it.each([
    ["its key is paused", "key_paused", () => stage.ledger.patchKey("ada", "ada.agent", { paused: true })],
    ["its key is revoked", "key_revoked", () => stage.ledger.deleteKey("ada", "ada.agent")],
    ["its account is frozen", "account_frozen", () => stage.ledger.patchAccount("ada", { frozen: true })],
  ] as const)("within a minute once %s, and no command runs any more", async (_, ended, stop) => {
    await open(1_000);
    payer = { ...payer, keyId: "ada.agent" };
    await stage.ledger.createKey("ada", newKey("ada.agent"));
    const id = await created();
    await stage.minutes(2);
    await stop();
    expect(await process.call("session", { session_id: id, command: "echo" }, payer)).toBeInstanceOf(GatewayError);
    expect(stage.vendor.asked).not.toContain("run");
    await stage.minutes(1);
    expect(await endOf(id)).toMatchObject({ ended, minutes: 3, cents: 3 });
    expect(stage.vendor.boxes.size).toBe(0);
  });

  it("when its vendor has closed it early, and is charged up to when it was last there", async () => {
    await open(1_000);
    const id = await created();
    await stage.minutes(7);
    stage.vendor.boxes.clear();
    await stage.minutes(3);
    expect(await endOf(id)).toMatchObject({ ended: "vendor_closed", minutes: 5, cents: 5 });
  });

  it("when its vendor has closed it, and is not charged for more where an hour ends in between", async () => {
    await open(1_000);
    const id = await created();
    await stage.minutes(57);
    stage.vendor.boxes.clear();
    await stage.minutes(3);
    expect(await endOf(id)).toMatchObject({ ended: "vendor_closed", minutes: 55, cents: 55 });
    expect(await moneyOf(stage, payer)).toEqual({ spent: 55, held: 0 });
  });

  it("when its vendor has been away across the end of an hour, and is charged until it was last there", async () => {
    await open(1_000);
    const id = await created();
    await stage.minutes(46);
    stage.vendor.faults.set("isOpen", fails);
    await stage.minutes(19);
    expect(await endOf(id)).toMatchObject({ ended: "vendor_away", minutes: 45, cents: 45 });
    expect((await postings()).map(({ amountNano }) => amountNano / 1e7)).toEqual([45]);
  });

  it("when its payer runs dry while its vendor is away, and says the minutes that it charges", async () => {
    await open(70);
    const id = await created();
    await stage.minutes(46);
    stage.vendor.faults.set("isOpen", fails);
    await stage.minutes(14);
    expect(await endOf(id)).toMatchObject({ ended: "no_money", minutes: 45, cents: 45 });
  });

  it("when its vendor has been away for a quarter of an hour; a shorter absence is none", async () => {
    await open(1_000);
    const id = await created();
    await stage.minutes(5);
    stage.vendor.faults.set("isOpen", fails);
    await stage.minutes(10);
    stage.vendor.faults.clear();
    await stage.minutes(5);
    for (const script of ["isOpen", "close"]) stage.vendor.faults.set(script, fails);
    await stage.minutes(20);
    expect(await endOf(id)).toMatchObject({ ended: "vendor_away", minutes: 20, cents: 20 });
    stage.vendor.faults.clear();
    await stage.minutes(1);
    await process.sweep();
    expect(stage.vendor.boxes.size).toBe(0);
  });
});
