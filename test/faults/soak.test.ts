// Kills, freezes, slows and cuts everything at random under load; at the end it compares the provider's own books with the ledger.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import type { CallLogRow } from "../../src/sandbox/call-log.ts";
import { type Random, randomFrom } from "../../src/sandbox/vocabulary.ts";
import {
  expectNothingHeld,
  expectNothingLost,
  type Fleet,
  type FleetCharge,
  startFleet,
  startLoad,
} from "../support/fleet.ts";
import { type RedisServer, startRedis } from "../support/redis.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

/** `npm run soak -- --minutes=60 --seed=7` sets both. */
const MINUTES = Number(process.env.SOAK_MINUTES ?? 0.4);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);

const SIZE = 3;
const CREDIT = 100_000_000;
const LEASE_AND_SWEEP_MS = 150_000;
const BOOKS_READ_MS = 1_000;
/** The prices of a token at the sandbox's models, in nano-USD. */
const [NANO_IN, NANO_OUT] = [1_000, 2_000];

interface Ground {
  readonly redis: RedisServer;
  readonly proxy: TcpProxy;
  readonly fleet: Fleet;
  readonly random: Random;
}

async function replace({ fleet, random }: Ground, count: number): Promise<void> {
  const from = Math.floor(random() * SIZE);
  const places = Array.from({ length: count }, (_, at) => (from + at) % SIZE);
  await Promise.all(places.map((at) => fleet.kill(at)));
  await Promise.all(places.map((at) => fleet.start(at)));
}

/** Possible faults. Each restores everything at its end. */
const TROUBLES: Readonly<Record<string, (ground: Ground) => Promise<unknown>>> = {
  "a gateway is killed": (ground) => replace(ground, 1),
  "all gateways are killed": (ground) => replace(ground, SIZE),
  async "Redis is killed"({ redis, random }) {
    await redis.kill();
    await sleep(random() < 0.5 ? 0 : random() * 3_000);
    await redis.start();
  },
  async "Redis stands still"({ redis, random }) {
    redis.freeze();
    await sleep(random() * 3_000);
    redis.thaw();
  },
  "all connections are cut": async ({ proxy }) => proxy.cut(),
  "an answer is lost": ({ proxy }) => Promise.race([proxy.cutAfter("{a:"), sleep(1_000)]),
  async "the way is slow"({ proxy, random }) {
    proxy.pass(random() * 400);
    await sleep(1_000);
    proxy.pass();
  },
  async "the way swallows everything"({ proxy, random }) {
    proxy.blackHole();
    await sleep(random() * 3_000);
    proxy.pass();
    proxy.cut();
  },
};

/** Reads the provider's books before they drop their oldest rows. */
function keepBooks(fleet: Fleet) {
  const rows = new Map<number, CallLogRow>();
  const read = () => {
    for (const row of fleet.sandbox.books().requests) rows.set(row.number, row);
  };
  const timer = setInterval(read, BOOKS_READ_MS);
  onTestFinished(() => clearInterval(timer));
  return {
    close(): readonly CallLogRow[] {
      clearInterval(timer);
      read();
      return [...rows.values()];
    },
  };
}

const nanoOf = ({ tokensIn, tokensOut }: CallLogRow) => tokensIn * NANO_IN + tokensOut * NANO_OUT;
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/** Where the provider served a whole answer, its cost was charged to the nano, or the operator bears it and no caller received it. */
function expectBooksAgree(rows: readonly CallLogRow[], charges: readonly FleetCharge[], told: ReadonlySet<string>) {
  const charged = new Map(charges.map((charge) => [charge.request_id, charge.charged_nano_usd]));
  const served = new Map(Object.entries(Object.groupBy(rows, (row) => row.requestId ?? "")));
  const invented = charges.filter(({ request_id }) => !served.has(request_id));
  expect(invented).toEqual([]);
  const whole = rows.filter(({ ended, requestId }) => ended === "whole" && served.get(requestId ?? "")?.length === 1);
  const wrong = whole.filter((row) => (charged.get(row.requestId ?? "") ?? nanoOf(row)) !== nanoOf(row));
  expect(wrong).toEqual([]);
  const unpaid = whole.filter(({ requestId }) => !charged.has(requestId ?? ""));
  expect(unpaid.filter(({ requestId }) => told.has(requestId ?? ""))).toEqual([]);
  const paid = sum(whole.map(nanoOf)) - sum(unpaid.map(nanoOf));
  return { whole: whole.length, paid, unpaid: sum(unpaid.map(nanoOf)), provider: sum(rows.map(nanoOf)) };
}

it(`soak of ${MINUTES} minutes: what the provider served is charged to the nano or absorbed, whatever dies`, {
  timeout: MINUTES * 60_000 + 300_000,
}, async () => {
  const redis = await startRedis();
  const proxy = await startTcpProxy(redis.port);
  const fleet = await startFleet(SIZE, `redis://127.0.0.1:${proxy.port}`);
  onTestFinished(async () => {
    await fleet.dispose();
    await proxy.close();
    await redis.dispose();
  });
  console.log(`seed ${SEED}`);
  const random = randomFrom(SEED);
  const accounts = [await fleet.account(CREDIT), await fleet.account(CREDIT), await fleet.account(CREDIT)];
  const books = keepBooks(fleet);
  const loads = accounts.map((account, at) => startLoad(fleet, account, randomFrom(SEED + at + 1), 4));
  const seen = new Map<string, number>();
  for (const until = Date.now() + MINUTES * 60_000; Date.now() < until; ) {
    await sleep(500 + random() * 3_000);
    const [name, trouble] = Object.entries(TROUBLES)[Math.floor(random() * Object.keys(TROUBLES).length)] ?? [];
    if (name === undefined || trouble === undefined) throw new Error("there are troubles");
    seen.set(name, (seen.get(name) ?? 0) + 1);
    await trouble({ redis, proxy, fleet, random });
  }
  await Promise.all(loads.map((load) => load.progress(5, 60_000)));
  await Promise.all(loads.map((load) => load.stop()));
  for (const [at, account] of accounts.entries()) {
    await expectNothingLost(fleet, account, CREDIT, loads[at] as (typeof loads)[number]);
  }
  await expectNothingHeld(fleet, LEASE_AND_SWEEP_MS);
  const charges = (await Promise.all(accounts.map((account) => fleet.charges(account)))).flat();
  const told = new Set(loads.flatMap(({ acknowledged }) => acknowledged.map(({ requestId }) => requestId)));
  const agreed = expectBooksAgree(books.close(), charges, told);
  const endings = loads.map((load) => JSON.stringify(Object.fromEntries(load.endings))).join(" ");
  console.log(
    `${JSON.stringify(Object.fromEntries(seen))}; calls ended ${endings}; ${told.size} charges told of, ` +
      `${charges.length} in the ledger; provider ${agreed.provider} nano in all; of ${agreed.whole} whole answers ` +
      `${agreed.paid} nano charged, ${agreed.unpaid} absorbed because a process died first`,
  );
  expect(await fleet.doctor()).toEqual({ holds: 0, findings: [] });
});
