// What callers and the ledger see of a Redis that is unavailable, slow or full. Titles name the rows of the failure table.
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { GatewayError } from "../../../../src/core/errors.ts";
import { nano } from "../../../../src/core/money.ts";
import type { PostOutcome, SharedLedger } from "../../../../src/money/ledger/model/ledger.ts";
import { type Intent, intentIn, intentText } from "../../../../src/money/ledger/spool/intent.ts";
import { eventually } from "../../../support/gateway.ts";
import { manualClock } from "../../../support/manual-clock.ts";
import { PATIENT_MS } from "../../../support/patience.ts";
import { onlyAProcessShows } from "../../../support/process-fact.ts";
import { CENT, legOf } from "../requests.ts";
import { AWAY, ada, allResolved, allTold, charged, cost, LEASE_MS, request, startSpooled } from "./spooled.ts";

onlyAProcessShows("a Redis that fails");

describe("Redis down at reserve", () => {
  it("the call is refused within a second, and nothing is left of it", async () => {
    const { ledger, redis, hold, other, told } = await startSpooled();
    await redis.kill();
    const fromMs = systemClock.elapsedMs();
    await expect(hold("tx_1", 5)).rejects.toEqual(AWAY);
    // Redis gets half a second for an answer; a busy machine needs more for the rest.
    expect(systemClock.elapsedMs() - fromMs).toBeLessThan(10_000);
    await redis.start();
    await eventually(() => hold("tx_2", 5).catch(() => undefined), "the ledger to be back");
    await told();
    expect(await other.holdState(ada("tx_1"))).toBeNull();
    expect((await ledger.doctor()).findings).toEqual([]);
  });
});

describe("an end of a call in the spool", () => {
  it("has its legs when Redis is told of it by the next process", async () => {
    const { redis, hold, other, ledger, reopen, close } = await startSpooled();
    const legs = [legOf({ ok: false, reason: "timeout", upstreamNano: nano(0) }), legOf({})];
    await hold("tx_1", 5);
    await redis.kill();
    expect(await ledger.post({ ...cost("tx_1", 3), legs })).toMatchObject({ outcome: "spooled" });
    await close();
    await redis.start();
    const next = await reopen();
    await allTold(next.ledger);
    expect((await other.transaction("ada", "tx_1"))?.legs).toEqual(legs);
  });

  it("is read as a release wrote it that knew of no legs", () => {
    const { legs: _, ...request } = cost("tx_1", 3);
    expect(intentIn(JSON.stringify({ op: "post", request, origin: null }))).toEqual({
      ...{ op: "post", request: { ...request, legs: [] }, origin: null },
    });
    const whole: Intent = { op: "post", request: { ...request, legs: [legOf({})] }, origin: null };
    expect(intentIn(intentText(whole))).toEqual(whole);
    const release: Intent = { op: "void", hold: ada("tx_2"), reason: "r", keyFate: "free", origin: null };
    expect(intentIn(intentText(release))).toEqual(release);
  });
});

describe("Redis slow", () => {
  it("a hold whose answer came too late is released by a void from the spool, and cannot be placed afterwards", async () => {
    const { ledger, proxy, hold, other, told } = await startSpooled();
    proxy.pass(700);
    await expect(hold("tx_1", 5)).rejects.toEqual(AWAY);
    expect(await ledger.void(ada("tx_1"), "reserve failed")).toEqual({ outcome: "voided" });
    expect(ledger.spoolState().depth).toBe(1);
    proxy.pass();
    proxy.cut();
    await told();
    expect(await other.holdState(ada("tx_1"))).toBe("voided");
    expect(await other.reserve(request("tx_1", 5))).toEqual({ outcome: "exists", state: "voided" });
    expect(await other.account("ada")).toMatchObject({ heldNano: 0, spentNano: 0 });
    expect((await ledger.doctor()).findings).toEqual([]);
  });

  it("one that swallows everything holds no caller up for long, and gets what it missed", async () => {
    const { ledger, proxy, hold, other, told } = await startSpooled();
    expect(await hold("tx_1", 5)).toEqual({ outcome: "held" });
    proxy.blackHole();
    const fromMs = systemClock.elapsedMs();
    expect(await ledger.post(cost("tx_1", 3))).toMatchObject({ outcome: "spooled", ...charged(3) });
    expect(systemClock.elapsedMs() - fromMs).toBeLessThan(10_000);
    proxy.pass();
    proxy.cut();
    await told();
    expect(await other.transaction("ada", "tx_1")).toMatchObject({ amountNano: 3 * CENT });
  });
});

describe("Redis down at settle", () => {
  it("callers are told what they will be charged; the charges are there once the server is back, in their order", async () => {
    const { ledger, redis, hold, other, told } = await startSpooled();
    for (const id of ["tx_1", "tx_2", "tx_3"]) expect(await hold(id, 5)).toEqual({ outcome: "held" });
    await redis.kill();
    expect(await ledger.post(cost("tx_1", 3))).toEqual({
      ...{ outcome: "spooled", ...charged(3), absorbedNano: 0, balanceNano: null },
    });
    // More than the hold: the operator bears the rest, as usual.
    expect(await ledger.post(cost("tx_2", 9))).toMatchObject({ ...charged(5), absorbedNano: 4 * CENT });
    expect(await ledger.void(ada("tx_3"), "failed")).toEqual({ outcome: "voided" });
    expect(ledger.spoolState()).toMatchObject({ depth: 3 });
    await redis.start();
    await told();
    const { rows } = await other.transactions({ accountId: "ada", keyId: null, limit: 10, cursor: null });
    expect(rows.map(({ transactionId, amountNano }) => [transactionId, amountNano])).toEqual([
      ["tx_2", 5 * CENT],
      ["tx_1", 3 * CENT],
      ["open_ada", expect.any(Number)],
    ]);
    expect(await other.account("ada")).toMatchObject({ heldNano: 0, spentNano: 8 * CENT, absorbedNano: 4 * CENT });
    expect((await ledger.doctor()).findings).toEqual([]);
  });

  it("what a process left untold is told by the next one, before it places a hold", async () => {
    const { ledger, redis, hold, other, reopen, told } = await startSpooled();
    expect(await hold("tx_1", 5)).toEqual({ outcome: "held" });
    await redis.kill();
    expect(await ledger.post(cost("tx_1", 3))).toMatchObject({ outcome: "spooled" });
    await redis.start();
    const next = await reopen();
    expect(next.ledger.spoolState().depth).toBe(0);
    await told();
    expect(await other.transaction("ada", "tx_1")).toMatchObject({ amountNano: 3 * CENT });
    expect(await hold("tx_2", 5)).toEqual({ outcome: "held" });
  });

  it("cents that are told while the store is away are the ledger's, or one more", async () => {
    const { ledger, redis, hold, told, other } = await startSpooled();
    await hold("tx_1", 5);
    await redis.kill();
    const fraction = { ...cost("tx_1", 0), amountNano: nano(1_234) };
    expect(await ledger.post(fraction)).toMatchObject({ chargedNano: 1_234, chargedCents: 1 });
    await redis.start();
    await told();
    expect(await other.transaction("ada", "tx_1")).toMatchObject({ amountNano: 1_234, chargedCents: 1 });
  });

  it("a busy account catches up while its calls go on, and is told of its charges by the ledger again", async () => {
    const { ledger, redis, proxy, hold, told, other } = await startSpooled();
    const LANES = 32;
    proxy.pass(2);
    let seen: PostOutcome["outcome"][] = [];
    let over = false;
    onTestFinished(() => {
      over = true;
    });
    const lane = async (number: number) => {
      for (let at = 0; !over; at++) {
        const id = `tx_${number}_${at}`;
        const held = await hold(id, 0).catch(() => new Promise<null>((resolve) => setTimeout(resolve, 5, null)));
        if (held?.outcome === "held") seen.push((await ledger.post(cost(id, 0))).outcome);
      }
    };
    const lanes = Array.from({ length: LANES }, (_, number) => lane(number));
    const allPosted = () => {
      const lately = seen.slice(-2 * LANES);
      return (lately.length === 2 * LANES && lately.every((outcome) => outcome === "posted")) || undefined;
    };
    await eventually(allPosted, "calls that are charged");
    expect(await hold("tx_first", 5)).toEqual({ outcome: "held" });
    redis.freeze();
    expect(await ledger.post(cost("tx_first", 3))).toMatchObject({ outcome: "spooled" });
    seen = [];
    redis.thaw();
    await eventually(allPosted, "the account to catch up");
    over = true;
    await Promise.all(lanes);
    await told();
    expect((await other.account("ada"))?.heldNano).toBe(0);
    expect((await ledger.doctor()).findings).toEqual([]);
  });
});

describe("connection cut after send", () => {
  it("a hold whose answer was lost is this call's own, and a charge whose answer was lost is made once", async () => {
    const { ledger, proxy, hold, other } = await startSpooled({}, { commandMsMax: PATIENT_MS });
    // From here on the server knows the scripts: each following command is sent once and run.
    await hold("tx_0", 5);
    await ledger.post(cost("tx_0", 1));
    const atHold = proxy.cutAfter("tx_1");
    expect(await hold("tx_1", 5)).toEqual({ outcome: "held" });
    await atHold;
    const atPost = proxy.cutAfter("tx_1");
    const posted: PostOutcome = await ledger.post(cost("tx_1", 3));
    await atPost;
    expect(posted).toMatchObject({ outcome: "posted", repeat: true, chargedNano: 3 * CENT });
    expect(await other.account("ada")).toMatchObject({ heldNano: 0, spentNano: 4 * CENT });
    // A second request for the same hold gets the same answer.
    expect(await hold("tx_2", 5)).toEqual({ outcome: "held" });
    expect(await hold("tx_2", 5)).toEqual({ outcome: "exists", state: "held" });
  });
});

describe("Redis OOM / eviction", () => {
  it("a full server takes no new calls; running ones end in the ledger", async () => {
    const { ledger, redis, hold, other } = await startSpooled({}, { commandMsMax: PATIENT_MS });
    for (const id of ["tx_1", "tx_2"]) expect(await hold(id, 5)).toEqual({ outcome: "held" });
    await redis.send("CONFIG", "SET", "maxmemory", "1");
    await expect(hold("tx_3", 5)).rejects.toEqual(AWAY);
    expect(await ledger.post(cost("tx_1", 3))).toMatchObject({ outcome: "posted", ...charged(3) });
    expect(await ledger.void(ada("tx_2"), "failed")).toEqual({ outcome: "voided" });
    expect(await other.account("ada")).toMatchObject({ heldNano: 0, spentNano: 3 * CENT });
    expect((await ledger.doctor()).findings).toEqual([]);
  });
});

describe("Redis away for longer than a lease", () => {
  it("the sweep comes after the spools: a call that has ended keeps its charge, one that goes on keeps its hold", async () => {
    const clock = manualClock(systemClock.epochMs());
    const { ledger, proxy, hold, other, told } = await startSpooled({}, { clock });
    for (const id of ["tx_ended", "tx_running"]) expect(await hold(id, 5)).toEqual({ outcome: "held" });
    proxy.blackHole();
    expect(await ledger.post(cost("tx_ended", 3))).toMatchObject({ outcome: "spooled" });
    clock.advance(LEASE_MS + 1);
    await expect(ledger.sweep(10)).rejects.toEqual(AWAY);
    proxy.pass();
    proxy.cut();
    expect(await ledger.sweep(10)).toEqual([]);
    await told();
    expect(await ledger.sweep(10)).toEqual([]);
    expect(await ledger.renew([ada("tx_running")], LEASE_MS)).toEqual([]);
    expect(await other.transaction("ada", "tx_ended")).toMatchObject({ amountNano: 3 * CENT });
    expect(await other.holdState(ada("tx_running"))).toBe("held");
  });

  it("a command that is lost now and then is no outage: holds of the dead end within lease and sweep", async () => {
    let sent = 0;
    const lost = new GatewayError("ledger_unavailable", { retryAfterSeconds: 1 });
    const wrap = (store: SharedLedger): SharedLedger => ({
      ...store,
      sweep: (countMax) => (sent++ % 2 === 0 ? Promise.reject(lost) : other.sweep(countMax)),
    });
    const clock = manualClock(systemClock.epochMs());
    const { ledger, other } = await startSpooled({}, { wrap, clock, leaseMs: 60_000 });
    expect(await other.reserve({ ...request("tx_dead", 5), leaseMs: 200 })).toEqual({ outcome: "held" });
    clock.advance(201);
    const swept = async () => (await ledger.sweep(10).catch((): string[] => [])).includes("tx_dead") || undefined;
    await eventually(swept, "the sweep");
    expect(await other.holdState(ada("tx_dead"))).toBe("expired");
  });
});

describe("late settle after sweep", () => {
  it("a call whose lease ended while its process was cut off is charged as its caller was told, once", async () => {
    let tries = 0;
    const clock = manualClock(systemClock.epochMs());
    const { ledger, proxy, hold, other, told, forfeits } = await startSpooled(
      {},
      {
        clock,
        wrap: (store) => ({
          ...store,
          post(request) {
            tries++;
            return store.post(request);
          },
        }),
      },
    );
    expect(await hold("tx_1", 5)).toEqual({ outcome: "held" });
    proxy.blackHole();
    expect(await ledger.post(cost("tx_1", 3))).toMatchObject({ outcome: "spooled", ...charged(3) });
    clock.advance(LEASE_MS + 1);
    await allResolved(other);
    expect(await other.holdState(ada("tx_1"))).toBe("expired");
    proxy.pass();
    proxy.cut();
    await told();
    expect(await other.transaction("ada", "tx_1")).toMatchObject({ amountNano: 3 * CENT, reason: "late" });
    // A recent answer is sent again: it changes nothing.
    const before = tries;
    ledger.repeat();
    await eventually(() => (tries > before ? true : undefined), "it to be told again");
    expect((await ledger.doctor()).findings).toEqual([]);
    expect(await other.account("ada")).toMatchObject({ heldNano: 0, spentNano: 3 * CENT, absorbedNano: 0 });
    expect(forfeits).toEqual([]);
  });

  it("a call whose process reaches the store again before it ends is charged, and its caller told exactly", async () => {
    const clock = manualClock(systemClock.epochMs());
    const { ledger, hold, other } = await startSpooled({}, { clock });
    expect(await hold("tx_1", 5)).toEqual({ outcome: "held" });
    clock.advance(LEASE_MS + 1);
    await allResolved(other);
    expect(await ledger.post(cost("tx_1", 3))).toMatchObject({ outcome: "posted", repeat: false, ...charged(3) });
    expect(await ledger.void(ada("tx_1"), "late")).toEqual({ outcome: "posted" });
    expect((await ledger.doctor()).findings).toEqual([]);
  });

  it("where the sweep has posted what was noted as used, the rest is a charge of its own, and the doctor knows both", async () => {
    const clock = manualClock(systemClock.epochMs());
    const { ledger, redis, proxy, other, told, forfeits } = await startSpooled({}, { clock });
    await ledger.reserve({ ...request("tx_1", 2), onExpire: "post-accrued" });
    await ledger.extend(ada("tx_1"), nano(5 * CENT), nano(CENT), LEASE_MS);
    proxy.blackHole();
    expect(await ledger.post(cost("tx_1", 4))).toMatchObject({ outcome: "spooled", ...charged(4) });
    clock.advance(LEASE_MS + 1);
    await allResolved(other);
    proxy.pass();
    proxy.cut();
    await told();
    const { rows } = await other.transactions({ accountId: "ada", keyId: "ada.key", limit: 10, cursor: null });
    expect(rows.map(({ transactionId, amountNano }) => [transactionId, amountNano])).toEqual([
      ["tx_1.rest", 3 * CENT],
      ["tx_1", CENT],
    ]);
    expect((await ledger.doctor()).findings).toEqual([]);
    expect(forfeits).toEqual([]);
    await redis.send("DEL", "{a:ada}:c:tx_1.rest");
    const { findings } = await ledger.doctor();
    expect(findings.filter(({ invariant }) => invariant === "spool").map(({ detail }) => detail)).toEqual([
      `tx_1 cost ${4 * CENT}, its posting says ${CENT}`,
    ]);
  });

  it("of a hold that another process placed nothing is charged late: the cost is the operator's, and is told", async () => {
    const clock = manualClock(systemClock.epochMs());
    const { ledger, proxy, other, told, forfeits } = await startSpooled({}, { clock });
    expect(await other.reserve(request("tx_1", 5))).toEqual({ outcome: "held" });
    proxy.blackHole();
    expect(await ledger.post(cost("tx_1", 3))).toMatchObject({ outcome: "spooled", ...charged(3) });
    clock.advance(LEASE_MS + 1);
    await allResolved(other);
    proxy.pass();
    proxy.cut();
    await told();
    expect(forfeits).toEqual([{ transactionId: "tx_1", amountNano: 3 * CENT, hold: "expired" }]);
    expect(await other.account("ada")).toMatchObject({ heldNano: 0, spentNano: 0 });
    expect((await ledger.doctor()).findings).toEqual([]);
  });
});
