import { expect, test } from "vitest";
import { type Every, keepLeases } from "../../../src/money/ledger/sweep.ts";
import { forFile } from "../../support/for-file.ts";
import { eventually } from "../../support/gateway.ts";
import { holdRequest, newAccount } from "./requests.ts";
import { sqliteStore } from "./store.ts";

const LEASE_MS = 60_000;

const store = forFile(await sqliteStore());

/** A timer that fires when the test says so. */
function bell() {
  const rings = new Map<number, () => void>();
  const every: Every = (ms, run) => {
    rings.set(ms, run);
    return () => rings.delete(ms);
  };
  return { every, rings };
}

function start(owner: string, more: { alsoSweep?: () => Promise<boolean> } = {}) {
  const { every, rings } = bell();
  const errors: unknown[] = [];
  const { ledger, clock } = store;
  const onBroken = (error: unknown) => errors.push(error);
  const leases = keepLeases({ ledger, clock, owner, leaseMs: LEASE_MS, onBroken, every, ...more });
  return { leases, rings, errors, heart: () => rings.get(LEASE_MS / 4)?.(), broom: () => rings.get(5_000)?.() };
}

async function place(accountId: string, owner: string, ids: readonly string[]) {
  await store.ledger.openAccount(newAccount(accountId, 100));
  const holds = ids.map((id) => ({ accountId, holdId: `${accountId}.${id}` }));
  for (const hold of holds) {
    await store.ledger.reserve(holdRequest({ ...hold, cents: 1, nowMs: store.clock.epochMs() }, { owner }));
  }
  return holds;
}

/** All requests to the ledger so far are answered, and their callers have seen the answers. */
async function settled(): Promise<void> {
  await store.ledger.totals();
  await new Promise((resolve) => setImmediate(resolve));
}

const live = async () => (await store.ledger.totals()).holdsOpen;

test("a hold that is kept outlives its lease; one that is released or never kept does not", async () => {
  const { leases, heart, broom, rings, errors } = start("p");
  const [kept, released] = await place("a", "p", ["kept", "released", "never"]);
  if (!kept || !released) throw new Error("no holds");
  leases.keep(kept);
  leases.keep(released);
  leases.release(released);
  for (let beat = 0; beat < 8; beat++) {
    store.clock.advance(LEASE_MS / 4);
    heart();
    broom();
    await settled();
  }
  await leases.stop();
  expect(rings.size).toBe(0);
  expect(errors).toEqual([]);
  expect(await live()).toBe(1);
  await store.ledger.void(kept, "test");
});

test("young holds are not renewed: most calls cost no heartbeat", async () => {
  let renewed = 0;
  const { every, rings } = bell();
  const renew = async () => {
    renewed += 1;
    return [];
  };
  const ledger = { renew, sweep: async () => [] };
  const leases = keepLeases({ ledger, clock: store.clock, owner: "p", leaseMs: LEASE_MS, onBroken() {}, every });
  leases.keep({ accountId: "a", holdId: "young" });
  store.clock.advance(LEASE_MS / 4 - 1);
  rings.get(LEASE_MS / 4)?.();
  await settled();
  expect(renewed).toBe(0);
  store.clock.advance(1);
  rings.get(LEASE_MS / 4)?.();
  expect(renewed).toBe(1);
  await leases.stop();
});

test("at start every hold of a dead process is ended, however many there are", async () => {
  const ids = Array.from({ length: 1_100 }, (_, at) => String(at));
  await store.ledger.openAccount(newAccount("b", 10_000));
  await Promise.all(
    ids.map((id) => {
      const hold = { accountId: "b", holdId: `b.${id}`, cents: 1, nowMs: store.clock.epochMs() };
      return store.ledger.reserve(holdRequest(hold, { owner: "dead" }));
    }),
  );
  expect(await live()).toBe(1_100);
  const { leases } = start("alive");
  await leases.recover();
  expect(await live()).toBe(0);
  await leases.stop();
});

test("a failed sweep is told, and the next one runs", async () => {
  let runs = 0;
  const alsoSweep = async () => {
    runs += 1;
    if (runs === 1) throw new Error("not now");
    return false;
  };
  const { leases, broom, errors } = start("p", { alsoSweep });
  broom();
  await leases.stop();
  expect(errors).toMatchObject([{ message: "not now" }]);
  const again = start("p", { alsoSweep });
  again.broom();
  await again.leases.stop();
  expect([runs, again.errors]).toEqual([2, []]);
});

test("of other stores a sweep takes all that is due, and no more in a row than holds can wait for", async () => {
  const due = { rounds: 0 };
  let swept = 0;
  const alsoSweep = async () => {
    swept += 1;
    due.rounds -= 1;
    return due.rounds > 0;
  };
  const { leases, broom } = start("p", { alsoSweep });
  due.rounds = 3;
  broom();
  await eventually(() => due.rounds === 0 || undefined, "three rounds");
  due.rounds = 1_000;
  broom();
  await leases.stop();
  expect(swept - 3).toBeGreaterThan(1);
  expect(swept - 3).toBeLessThan(100);
});
