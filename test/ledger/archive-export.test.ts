import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ManualClock, manualClock, systemClock } from "../../src/clock.ts";
import type { Archive } from "../../src/ledger/archive.ts";
import { claimArchive, type ExportOptions, exportPostings } from "../../src/ledger/archive-export.ts";
import { openPostgresArchive } from "../../src/ledger/archive-postgres.ts";
import { openSqliteArchive } from "../../src/ledger/archive-sqlite.ts";
import type { SharedLedger } from "../../src/ledger/ledger.ts";
import { redisLedger } from "../../src/ledger/redis-ledger.ts";
import type { LedgerLink } from "../../src/ledger/redis-script.ts";
import { DAY_MS } from "../../src/ledger/windows.ts";
import { nano } from "../../src/money.ts";
import { openRedis, type RedisLink } from "../../src/storage/redis-link.ts";
import { eventually } from "../support/gateway.ts";
import { POSTGRES_MS_MAX, startPostgres } from "../support/postgres.ts";
import { anyRedis } from "../support/redis.ts";
import { CENT, charge, holdRequest, newAccount, newKey, postRequest } from "./requests.ts";
import { START_MS } from "./store.ts";

const LEASE_MS = 60_000;
let server: Awaited<ReturnType<typeof anyRedis>>;
let link: RedisLink;
let folder: string;
let file: string;
let archive: Archive;
let clock: ManualClock;
let ledger: SharedLedger;
let made = 0;

beforeAll(async () => {
  server = await anyRedis();
  link = await openRedis(server.url, { onBroken: () => {}, commandMsMax: 5_000 });
  folder = mkdtempSync(join(tmpdir(), "tollgate-export-"));
  file = join(folder, "archive.db");
  archive = await openSqliteArchive({ file, clock: systemClock, onFatal: (error) => console.error(error) });
  clock = manualClock(START_MS);
  ledger = open(archive);
});
afterAll(async () => {
  await archive.close();
  await link.close();
  await server.dispose();
  rmSync(folder, { recursive: true });
});

function open(to: Archive): SharedLedger {
  const settled: LedgerLink = { ...link, uptimeMs: () => Promise.resolve(LEASE_MS) };
  return redisLedger({ link: settled, clock, clockIsServers: true, leaseMs: LEASE_MS, archive: to });
}

/** An exporter that works when it is told to. */
function exporter(options: Partial<ExportOptions> = {}) {
  const errors: unknown[] = [];
  let tick = () => {};
  const every: ExportOptions["every"] = (_, run) => {
    tick = run;
    return () => {};
  };
  const onBroken = (error: unknown) => errors.push(error);
  const own = exportPostings({ ...{ link, archive, clock, clockIsServers: true, onBroken, every }, ...options });
  return { ...own, errors, tick: () => tick() };
}

async function* only(...accountIds: string[]) {
  yield* accountIds;
}

async function account(cents = 1_000): Promise<string> {
  const accountId = `account-${made++}`;
  await ledger.openAccount(newAccount(accountId, cents, { inferenceCapNano: nano(100_000 * CENT) }));
  return accountId;
}

async function charges(accountId: string, first: number, last: number): Promise<void> {
  for (let at = first; at <= last; at++) {
    await charge(ledger, { accountId, holdId: `${accountId}.${at}`, cents: 1, nowMs: clock.epochMs() });
  }
}

async function listed(accountId: string, keyId: string | null = null, limit = 3): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null = null; ; ) {
    const page: Awaited<ReturnType<SharedLedger["transactions"]>> = await ledger.transactions({
      ...{ accountId, keyId, limit, cursor },
    });
    ids.push(...page.rows.map((row) => row.transactionId.replace(`${accountId}.`, "")));
    if (page.next === null) return ids;
    cursor = page.next;
  }
}

const findings = async () => (await ledger.doctor()).findings;
const inRedis = async (accountId: string) => Number(await link.call("ZCARD", `{a:${accountId}}:x`));

test("postings leave after a minute, in order, and what is read of them does not change", async () => {
  const accountId = await account();
  await charges(accountId, 1, 5);
  clock.advance(30_000);
  await charges(accountId, 6, 7);
  const [before, rows] = [await ledger.account(accountId), await listed(accountId)];
  const one = await ledger.transaction(accountId, `${accountId}.2`);
  const mover = exporter();
  mover.tick();
  await mover.stop();
  expect(await inRedis(accountId)).toBe(8);
  clock.advance(30_001);
  const again = exporter();
  await eventually(async () => {
    again.tick();
    return (await inRedis(accountId)) === 2 ? true : undefined;
  }, "the old postings to leave");
  await again.stop();
  expect(await archive.last(accountId)).toBe(6);
  expect(rows.map((id) => id.replace("open_", ""))).toEqual(["7", "6", "5", "4", "3", "2", "1", accountId]);
  expect(await listed(accountId)).toEqual(rows);
  expect(await ledger.transaction(accountId, `${accountId}.2`)).toEqual(one);
  expect(await ledger.transaction(null, `${accountId}.2`)).toEqual(one);
  expect(await ledger.transaction(null, `${accountId}.7`)).toMatchObject({ kind: "charge" });
  expect(await ledger.account(accountId)).toEqual(before);
  expect(await findings()).toEqual([]);
});

test("of a busy account no more than its share stays, however young", async () => {
  const accountId = await account();
  await charges(accountId, 1, 20);
  clock.advance(10_001);
  const mover = exporter({ keptMax: 4 });
  await eventually(async () => {
    mover.tick();
    return (await inRedis(accountId)) === 4 ? true : undefined;
  }, "all but four to leave");
  await mover.stop();
  expect(mover.errors).toEqual([]);
  expect((await listed(accountId, `${accountId}.key`, 7)).map(Number)).toEqual(
    Array.from({ length: 20 }, (_, at) => 20 - at),
  );
});

test("of several exporters one is at work, and the next goes on when it stops", async () => {
  const accountId = await account();
  await charges(accountId, 1, 3);
  clock.advance(70_000);
  const [first, second] = [exporter(), exporter()];
  await eventually(async () => {
    first.tick();
    return (await inRedis(accountId)) === 0 ? true : undefined;
  }, "the first exporter to move them");
  await charges(accountId, 4, 6);
  clock.advance(70_000);
  for (let round = 0; round < 20; round++) {
    second.tick();
    await link.call("PING");
  }
  expect([second.behindMs(), await inRedis(accountId)]).toEqual([null, 3]);
  await first.stop();
  await eventually(async () => {
    second.tick();
    return (await inRedis(accountId)) === 0 ? true : undefined;
  }, "the second exporter to move them");
  expect(second.behindMs()).not.toBeNull();
  await second.stop();
});

describe("a step that is cut off", () => {
  /** The archive or Redis does what it is asked, and the answer gets lost. */
  class Cut extends Error {}

  test.each([
    ["after the archive has kept the postings", "append"],
    ["after Redis has let them go", "trim"],
    ["before anything", "archivable"],
  ])("%s changes nothing when it is repeated", async (_, point) => {
    const accountId = await account();
    await charges(accountId, 1, 9);
    const cut = { count: 0 };
    const cutting: LedgerLink = {
      ...link,
      script(name, lua, library) {
        const script = link.script(name, lua, library);
        if (name !== point) return script;
        return {
          async run(keys, args) {
            await script.run(keys, args);
            if (cut.count++ === 0) throw new Cut();
            return script.run(keys, args);
          },
        };
      },
    };
    const forgetful: Archive = {
      ...archive,
      async append(postings) {
        const answer = await archive.append(postings);
        if (point === "append" && cut.count++ === 0) throw new Cut();
        return answer;
      },
    };
    const before = await ledger.account(accountId);
    const broken = exporter({ link: cutting, archive: forgetful });
    await expect(broken.flush(only(accountId))).rejects.toThrow(Cut);
    expect((await listed(accountId)).length).toBe(10);
    expect(await findings()).toEqual([]);
    await charges(accountId, 10, 12);
    await broken.flush(only(accountId));
    await exporter().flush(only(accountId));
    expect(await archive.sums(accountId, 99)).toMatchObject({ count: 13, charged: 12 * CENT });
    expect(await inRedis(accountId)).toBe(0);
    expect((await ledger.account(accountId))?.spentNano).toBe((before?.spentNano ?? 0) + 3 * CENT);
    expect(await findings()).toEqual([]);
  });

  test("two that move the same postings at once move them once", async () => {
    const accountId = await account();
    await charges(accountId, 1, 30);
    const moves = [exporter(), exporter(), exporter()].map((mover) => mover.flush(only(accountId)));
    await Promise.allSettled(moves);
    await exporter().flush(only(accountId));
    expect(await archive.sums(accountId, 99)).toMatchObject({ count: 31, charged: 30 * CENT });
    expect(await findings()).toEqual([]);
  });
});

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
      expect(await ledger.voidOrphan(hold, "free", origin)).toEqual({ outcome: "posted" });
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

test("pages go from Redis into the archive without a gap or a double while postings move and are made", async () => {
  const accountId = await account(100_000);
  const second = `${accountId}.second`;
  await ledger.createKey(accountId, newKey(second));
  await charges(accountId, 1, 60);
  let running = true;
  const moving = (async () => {
    for (let at = 61; running; at++) {
      const hold = { accountId, holdId: `${accountId}.${at}`, cents: 1, nowMs: clock.epochMs() };
      await ledger.reserve(holdRequest(hold, at % 3 === 0 ? { keyId: second } : {}));
      await ledger.post(postRequest(hold));
      if (at % 7 === 0) await exporter().flush(only(accountId));
    }
  })();
  for (let round = 0; round < 8; round++) {
    const numbers = (await listed(accountId, null, 5)).filter((id) => !id.startsWith("open_")).map(Number);
    expect(numbers).toEqual(Array.from({ length: numbers[0] ?? 0 }, (_, at) => (numbers[0] ?? 0) - at));
    const ofKey = (await listed(accountId, second, 4)).map(Number);
    expect(ofKey).toEqual(Array.from({ length: ofKey.length }, (_, at) => (ofKey[0] ?? 0) - 3 * at));
    expect(ofKey.at(-1) ?? 63).toBe(63);
  }
  running = false;
  await moving;
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
  // A key that remembers a month, and is not used any more.
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
  // Half a year in steps that a clock guard believes.
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
  expect(before).toBeLessThan(3_000);
  await charges(accountId, 2, 101);
  expect((await bytes()) - before).toBeLessThan(100 * 1_000);
  await exporter().flush(only(accountId));
  expect((await bytes()) - before).toBeLessThan(100 * 200);
  // Of a call there is only its mark left, and that lapses.
  expect((await keys()).filter((key) => key.includes(":c:"))).toHaveLength(101);
  expect(await keys()).toHaveLength(101 + 3);
});

describe("what does not fit is told, and nothing is lost", () => {
  /** Changes the archive's file behind its back. */
  function edit(sql: string, ...values: string[]): void {
    const database = new DatabaseSync(file, { timeout: 5_000 });
    database.prepare(sql).run(...values);
    database.close();
  }

  test("the doctor names the posting that is missing, changed, or not Redis' own", async () => {
    const accountId = await account();
    await charges(accountId, 1, 5);
    await exporter().flush(only(accountId));
    const seen = async () => (await findings()).map(({ invariant, detail }) => `${invariant} ${detail}`).join("\n");
    edit("UPDATE tollgate_posting SET amount = amount + 1 WHERE transaction_id = ?", `${accountId}.3`);
    expect(await seen()).toMatch(/I10 .*charged of 50000000 .* 50000001[\s\S]*I4 .*key:.* 50000001/);
    edit("UPDATE tollgate_posting SET amount = amount - 1 WHERE transaction_id = ?", `${accountId}.3`);
    expect(await seen()).toBe("");
    edit("UPDATE tollgate_posting SET number = 7 WHERE transaction_id = ?", `${accountId}.5`);
    expect(await seen()).toMatch(
      /I10 6 postings have left Redis, 5 are in the archive[\s\S]*I10 posting 7 is .*nothing/,
    );
    edit("UPDATE tollgate_posting SET number = 6 WHERE transaction_id = ?", `${accountId}.5`);
    expect(await seen()).toBe("");
  });

  test("an account whose postings do not fit stays in Redis and keeps no other from moving", async () => {
    const [lost, sound] = [await account(), await account()];
    await charges(lost, 1, 2);
    await exporter().flush(only(lost));
    const { transactionId: _, ...rest } = (await archive.page({ accountId: lost, keyId: null }, null, 1))[0] ?? {};
    // Redis has come back without its last charges, and made others since.
    await archive.append([{ ...rest, transactionId: `${lost}.lost`, number: 4 } as never]);
    await charges(lost, 3, 4);
    await charges(sound, 1, 2);
    clock.advance(70_000);
    const mover = exporter();
    await eventually(async () => {
      mover.tick();
      return (await inRedis(sound)) === 0 && mover.errors.length > 0 ? true : undefined;
    }, "the sound account's postings to move");
    await mover.stop();
    expect(String(mover.errors[0])).toMatch(new RegExp(`posting 4 of ${lost} is ${lost}\\.3; .*${lost}\\.lost`));
    expect(await inRedis(lost)).toBe(2);
    expect((await findings()).map(({ accountId }) => accountId)).toContain(lost);
    edit("DELETE FROM tollgate_posting WHERE transaction_id = ?", `${lost}.lost`);
    await exporter().flush(only(lost));
    expect(await findings()).toEqual([]);
  });

  test("a Redis that has given its postings to one archive refuses another", async () => {
    await claimArchive(link, archive);
    await claimArchive(link, archive);
    await expect(claimArchive(link, { ...archive, id: "another" })).rejects.toThrow(/ARCHIVE_URL/);
  });
});

test("over PostgreSQL, which dies and comes back: every charge of four processes is kept once", {
  timeout: POSTGRES_MS_MAX,
}, async () => {
  const postgres = await startPostgres();
  const archives = await Promise.all([1, 2, 3, 4].map(() => openPostgresArchive(postgres.url)));
  const ledgers = archives.map(open);
  const accountIds = await Promise.all([1, 2, 3].map(() => account(100_000)));
  let running = true;
  const movers = archives.map((to) => exporter({ archive: to, ageMs: 0, keptMax: 0 }));
  const ticking = (async () => {
    while (running) {
      for (const mover of movers) mover.tick();
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  const call = async (at: number) => {
    const accountId = accountIds[at % 3] ?? "";
    const own = ledgers[at % 4] ?? ledger;
    const hold = { accountId, holdId: `${accountId}.${at}`, cents: 1, nowMs: clock.epochMs() };
    await own.reserve(holdRequest(hold));
    await own.post(postRequest(hold));
  };
  for (let at = 0; at < 600; at += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, more) => call(at + more)));
    clock.advance(11_000);
    if (at === 200) {
      const moved = async () => (await archives[1]?.sums(accountIds[0] ?? "", 1_000))?.count || undefined;
      await eventually(moved, "postings in the archive");
      await postgres.kill();
    }
    if (at === 400) await postgres.start();
  }
  running = false;
  await ticking;
  const [own] = ledgers;
  await Promise.all(movers.map((mover) => mover.stop()));
  const last = exporter({ archive: archives[0] ?? archive });
  expect(await last.flush(only(...accountIds))).toBeLessThan(600);
  for (const accountId of accountIds) {
    expect(await archives[1]?.sums(accountId, 1_000)).toMatchObject({ count: 201, charged: 200 * CENT });
    expect(await inRedis(accountId)).toBe(0);
  }
  const told = (await own?.doctor())?.findings ?? [];
  expect(told.filter(({ accountId }) => accountIds.includes(accountId ?? ""))).toEqual([]);
  await Promise.all(archives.map((one) => one.close()));
  await postgres.dispose();
});
