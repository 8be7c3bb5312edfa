// A Redis that has lost acknowledged writes, and the bounds of the spool that remembers them.
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { GatewayError } from "../../../../src/core/errors.ts";
import { nano } from "../../../../src/core/money.ts";
import { openSpool } from "../../../../src/money/ledger/spool/file.ts";
import { spooledLedger } from "../../../../src/money/ledger/spool/ledger.ts";
import { eventually } from "../../../support/gateway.ts";
import { CENT, newAccount, newKey } from "../requests.ts";
import { AWAY, ada, charged, cost, failing, LEASE_MS, request, startSpooled, startWithReplica } from "./spooled.ts";

describe("Redis loses acked writes (everysec, failover)", () => {
  it("charges that were acknowledged and lost are posted again, holds and all", async () => {
    const { ledger, hold, cutOff, takeOver, replica } = await startWithReplica();
    expect(await hold("tx_held", 5)).toEqual({ outcome: "held" });
    await eventually(
      async () => ((await replica.send("EXISTS", "{a:ada}:c:tx_held")) === 1 ? true : undefined),
      "copy",
    );
    await cutOff();
    expect(await hold("tx_lost", 7)).toEqual({ outcome: "held" });
    expect(await ledger.post(cost("tx_held", 3))).toMatchObject({ outcome: "posted", repeat: false });
    expect(await ledger.post(cost("tx_lost", 4))).toMatchObject({ outcome: "posted", repeat: false });
    await takeOver();
    await eventually(
      async () => (await ledger.transaction("ada", "tx_lost").catch(() => null)) ?? undefined,
      "a replay",
    );
    expect(await ledger.transaction("ada", "tx_held")).toMatchObject({ amountNano: 3 * CENT, reason: null });
    expect(await ledger.transaction("ada", "tx_lost")).toMatchObject({
      ...{ amountNano: 4 * CENT, absorbedNano: 0, reason: "orphan", keyId: "ada.key", operation: "chat" },
      ...{ requestId: "request of tx_lost", asked: "core/cheap", served: "maker/model" },
    });
    expect(await ledger.account("ada")).toMatchObject({ heldNano: 0, spentNano: 7 * CENT });
    expect((await ledger.doctor()).findings).toEqual([]);
  });

  it("a write that may have happened is not run again, though the server has forgotten its key", async () => {
    const { ledger, cutOff, takeOver, replica } = await startWithReplica();
    await cutOff();
    const idempotency = { key: "order-1", fingerprint: "same", keepMs: 60_000 };
    const write = { ...request("tx_write", 5), effect: "write" as const, idempotency };
    expect(await ledger.reserve(write)).toEqual({ outcome: "held" });
    expect(await ledger.void(ada("tx_write"), "failed", { keyFate: "unknown" })).toEqual({ outcome: "voided" });
    await takeOver();
    await eventually(
      async () => ((await replica.send("GET", "{a:ada}:c:tx_write")) === "voided" ? true : undefined),
      "a replay",
      10_000,
    );
    const again = { ...write, ...ada("tx_again"), nowMs: systemClock.epochMs() };
    expect(await ledger.reserve(again)).toEqual({ outcome: "idempotency_unknown", holdId: "tx_write" });
  });
});

describe("settle_orphan", () => {
  const lost = (holdId: string, cents: number) => request(holdId, cents);

  it("takes what is free, absorbs the rest, and never overspends", async () => {
    const { other } = await startSpooled();
    await other.openAccount(newAccount("eve", 10));
    const eve = { accountId: "eve", keyId: "eve.key" };
    await other.reserve({ ...request("tx_live", 6), ...eve });
    const settle = () =>
      other.settleOrphan({ ...cost("tx_lost", 9), accountId: "eve" }, { ...lost("tx_lost", 9), ...eve }, "orphan");
    expect(await settle()).toMatchObject({ outcome: "posted", repeat: false, ...charged(4), absorbedNano: 5 * CENT });
    expect(await settle()).toMatchObject({ outcome: "posted", repeat: true, ...charged(4), absorbedNano: 5 * CENT });
    expect(await other.account("eve")).toMatchObject({ spentNano: 4 * CENT, heldNano: 6 * CENT });
    expect(await other.transaction("eve", "tx_lost")).toMatchObject({ absorbReason: "orphan", reason: "orphan" });
    expect((await other.doctor()).findings).toEqual([]);
  });

  it("keeps to the key's ceiling, to the inference cap and to the hold", async () => {
    const { other } = await startSpooled();
    await other.openAccount({ ...newAccount("eve", 1_000), inferenceCapNano: nano(20 * CENT) });
    await other.createKey("eve", newKey("capped", { ceilingNano: nano(5 * CENT), ceilingPeriod: "month" }));
    const settle = (holdId: string, cents: number, more: object) =>
      other.settleOrphan({ ...cost(holdId, cents), accountId: "eve" }, { ...lost(holdId, 100), ...more }, "orphan");
    expect(await settle("tx_1", 7, { keyId: "capped" })).toMatchObject({ ...charged(5), absorbedNano: 2 * CENT });
    expect(await settle("tx_2", 1, { keyId: "capped" })).toMatchObject({ ...charged(0), absorbedNano: CENT });
    // Of the cap, 5 are spent and 3 absorbed.
    expect(await settle("tx_3", 30, { keyId: "eve.key" })).toMatchObject({ ...charged(12), absorbedNano: 18 * CENT });
    const outside = { keyId: "eve.key", inference: false, amountNano: nano(8 * CENT) };
    expect(await settle("tx_4", 9, outside)).toMatchObject({ ...charged(8), absorbedNano: CENT });
    expect((await other.doctor()).findings).toEqual([]);
  });

  it("changes nothing where the store knows the hold: a posting, a tombstone, a live hold win", async () => {
    const { other } = await startSpooled();
    await other.void(ada("tx_void"), "gone");
    expect(await other.settleOrphan(cost("tx_void", 3), lost("tx_void", 5), "orphan")).toEqual({ outcome: "voided" });
    await other.reserve(request("tx_held", 2));
    expect(await other.settleOrphan(cost("tx_held", 3), lost("tx_held", 5), "orphan")).toMatchObject(charged(2));
    expect(await other.settleOrphan({ ...cost("tx_1", 3), accountId: "nobody" }, lost("tx_1", 5), "orphan")).toEqual({
      outcome: "missing",
    });
    expect(await other.account("ada")).toMatchObject({ spentNano: 2 * CENT, heldNano: 0 });
  });
});

describe("the spool", () => {
  it("takes no new calls while the disk is nearly full, or while too many ends wait; running calls end", async () => {
    const { ledger, hold, reopen, other } = await startSpooled();
    expect(await hold("tx_1", 5)).toEqual({ outcome: "held" });
    await ledger.post(cost("tx_1", 3));
    const full = await reopen({ disk: { freeBytesMin: Number.MAX_SAFE_INTEGER, ballastBytes: 0 } });
    await hold("tx_2", 5).catch(() => {});
    await eventually(
      () =>
        hold("tx_3", 5).then(
          () => undefined,
          (error) => error,
        ),
      "the disk to be looked at",
    );
    await other.reserve(request("tx_4", 5));
    expect(await full.ledger.post(cost("tx_4", 3))).toMatchObject({ outcome: "posted" });
    const awayFor = (store: typeof other): typeof other => ({
      ...store,
      post: () => Promise.reject(new Error("away")),
    });
    const narrow = await reopen({ openMax: 2, wrap: awayFor });
    for (const id of ["tx_5", "tx_6"]) {
      expect(await hold(id, 5)).toEqual({ outcome: "held" });
      expect(await narrow.ledger.post(cost(id, 3))).toMatchObject({ outcome: "spooled" });
    }
    await expect(hold("tx_7", 5)).rejects.toEqual(AWAY);
  });

  it("tells an account's later ends after its earlier ones, though the store could take them at once", async () => {
    let away = true;
    const unavailable = new GatewayError("ledger_unavailable");
    const { ledger, hold, other, told } = await startSpooled(
      {},
      {
        wrap: (store) => ({
          ...store,
          post: (request) => (request.holdId === "tx_1" && away ? Promise.reject(unavailable) : store.post(request)),
        }),
      },
    );
    for (const id of ["tx_1", "tx_2"]) {
      await hold(id, 5);
      expect(await ledger.post(cost(id, 3))).toMatchObject({ outcome: "spooled" });
    }
    away = false;
    await told();
    const { rows } = await other.transactions({ accountId: "ada", keyId: null, limit: 2, cursor: null });
    expect(rows.map(({ transactionId }) => transactionId)).toEqual(["tx_2", "tx_1"]);
  });

  it("does not charge again what the server has forgotten and the archive knows", async () => {
    const { ledger, hold, other, redis, reopen } = await startSpooled();
    await hold("tx_1", 5);
    await ledger.post(cost("tx_1", 3));
    const archived = await other.transaction("ada", "tx_1");
    await redis.send("DEL", "{a:ada}:c:tx_1");
    const asked = Promise.withResolvers<void>();
    const transaction = () => {
      asked.resolve();
      return Promise.resolve(archived);
    };
    const next = await reopen({ wrap: (store) => ({ ...store, transaction }) });
    await asked.promise;
    await next.close();
    expect(await other.account("ada")).toMatchObject({ spentNano: 3 * CENT });
  });

  it("places no hold before what was left has been told", async () => {
    const { other, folder, redis } = await startSpooled();
    const quiet = { clock: systemClock, onBroken() {}, onForfeit() {}, onFatal() {} };
    const spool = await openSpool({ ...quiet, file: `${folder}/fresh.db` });
    const ledger = spooledLedger(other, spool, { ...quiet, leaseMs: LEASE_MS });
    await expect(ledger.reserve(request("tx_1", 5))).rejects.toEqual(AWAY);
    await ledger.recover();
    expect(await ledger.reserve(request("tx_1", 5))).toEqual({ outcome: "held" });
    await ledger.close();
    expect(await redis.send("EXISTS", "{a:ada}:c:tx_1")).toBe(1);
  });

  it("the doctor finds charges that the store has lost, releases it has forgotten, and ends that wait for too long", async () => {
    const { ledger, hold, redis, reopen } = await startSpooled();
    for (const id of ["tx_1", "tx_2", "tx_3"]) await hold(id, 5);
    await ledger.post(cost("tx_1", 3));
    await ledger.void(ada("tx_2"), "failed");
    expect((await ledger.doctor()).findings).toEqual([]);
    await redis.send("DEL", "{a:ada}:c:tx_1", "{a:ada}:c:tx_2");
    const { findings } = await ledger.doctor();
    expect(findings.filter(({ invariant }) => invariant === "spool").map(({ detail }) => detail)).toEqual([
      "the store has posted tx_1 and has no posting of it",
      "the store has released tx_2, which is unknown to it",
    ]);
    const opened = await reopen({ wrap: failing });
    await opened.ledger.post(cost("tx_3", 3));
    await eventually(() => (opened.broken.length > 0 ? true : undefined), "five tries");
    await eventually(
      async () =>
        (await opened.ledger.doctor()).findings.find(({ detail }) => detail.startsWith("the post of tx_3 has waited")),
      "the finding",
      3 * LEASE_MS,
    );
  });
});
