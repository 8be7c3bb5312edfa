// Postings are on disk before the sums that count them. Whatever a crash leaves, a start counts each posting once.
import { copyFileSync, existsSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { nano } from "../../../../src/core/money.ts";
import type { ReserveRequest } from "../../../../src/money/ledger/model/ledger.ts";
import type { Window } from "../../../../src/money/ledger/model/window-list.ts";
import { AccountTables } from "../../../../src/money/ledger/sqlite/accounts.ts";
import { postList, type ReserveList, reserveList, reserveOf } from "../../../../src/money/ledger/sqlite/compact.ts";
import { EntryTables } from "../../../../src/money/ledger/sqlite/entries.ts";
import { sqliteLedger } from "../../../../src/money/ledger/sqlite/ledger.ts";
import { reserve } from "../../../../src/money/ledger/sqlite/reserve.ts";
import { post } from "../../../../src/money/ledger/sqlite/settle.ts";
import { LedgerState } from "../../../../src/money/ledger/sqlite/state.ts";
import { type LedgerOperations, openUnit } from "../../../../src/money/ledger/sqlite/unit.ts";
import { openShared } from "../../../../src/platform/storage/open-database.ts";
import { folderForTest } from "../../../support/for-file.ts";
import { manualClock } from "../../../support/manual-clock.ts";
import { CENT, charge, holdRequest, newAccount, newKey, postRequest } from "../requests.ts";
import { openLedgerThread, START_MS } from "../store.ts";
import { EVERYTHING, pagesOf } from "../usage/contract.ts";

const clock = manualClock(START_MS);
let folder: string;
let file: string;
beforeEach(() => {
  folder = folderForTest("tollgate-journal-");
  file = join(folder, "tollgate.db");
});

const GROUP: Window = {
  ...{ scope: "group:7", period: "month", max: nano(900 * CENT), code: "budget_exceeded", counts: "charge" },
};
const WINDOWS: readonly Window[] = [GROUP, { ...GROUP, scope: "unpaid", counts: "unpaid", max: null }];
const hold = (holdId: string, cents: number) => ({ accountId: "a", holdId, cents, nowMs: clock.epochMs() });

/** A ledger in this thread, whose transactions the test begins and ends. */
function openHere(path: string) {
  const opened = openShared(path, "readers");
  const { database } = opened;
  const unit = openUnit(database, { epochMs: clock.epochMs(), elapsedMs: clock.elapsedMs() });
  const operations = unit.operations as unknown as LedgerOperations;
  return {
    unit,
    operations,
    database,
    commit(work: () => void) {
      database.exec("BEGIN IMMEDIATE");
      work();
      unit.flush();
      database.exec("COMMIT");
    },
    charge(holdId: string, cents: number, upstreamCents = 0) {
      operations.reserve(reserveList(holdRequest(hold(holdId, cents), { windows: WINDOWS })));
      operations.post(postList(postRequest(hold(holdId, cents), { upstreamNano: nano(upstreamCents * CENT) })));
    },
    close: () => opened.close(),
  };
}

/** The file as a kill at this moment would leave it. */
function killed(name: string): string {
  const copy = join(folder, name);
  for (const end of ["", "-wal"]) if (existsSync(file + end)) copyFileSync(file + end, copy + end);
  return copy;
}

/** What a start finds: each sum, wherever it stands. */
async function foundIn(path: string) {
  const ledger = sqliteLedger(await openLedgerThread(path, clock));
  const { findings, postings } = await ledger.doctor({ file: true });
  expect(findings).toEqual([]);
  const account = await ledger.account("a");
  const [group, unpaid] = await ledger.periodSums("a", [
    { scope: "group:7", period: "month" },
    { scope: "unpaid", period: "day" },
  ]);
  const usage = await pagesOf(ledger, { ...EVERYTHING, by: ["account"], kind: "charged" });
  const reported = Array.isArray(usage) ? usage[0]?.amountNano : undefined;
  const { spentNano } = await ledger.totals();
  const last = (await ledger.transactions({ accountId: "a", keyId: "a.key", limit: 1, cursor: null })).rows[0];
  await ledger.close();
  const cents = (value: unknown) => Number(value) / CENT;
  return {
    postings,
    spent: [account?.spentNano, group?.spentNano, spentNano, reported ?? 0].map(cents),
    held: cents(account?.heldNano),
    unpaid: cents(unpaid?.spentNano),
    last: last?.transactionId,
  };
}

test("a kill at any moment between a posting and its sums: each is counted once", async () => {
  const here = openHere(file);
  here.commit(() => void here.operations.openAccount(newAccount("a", 1_000)));
  here.commit(() => here.charge("one", 1, 3));
  here.commit(() => here.charge("two", 2));
  const appended = killed("appended");
  here.database.exec("BEGIN IMMEDIATE");
  here.charge("three", 4);
  const uncommitted = killed("uncommitted");
  here.unit.flush();
  here.database.exec("COMMIT");
  const committed = killed("committed");
  here.database.exec("BEGIN IMMEDIATE");
  here.unit.catchUp?.();
  const applying = killed("applying");
  here.database.exec("COMMIT");
  here.commit(() => here.charge("four", 8, 9));
  const behindAgain = killed("behind-again");
  here.close();
  const two = { postings: 3, spent: [3, 3, 3, 3], held: 0, unpaid: 2, last: "two" };
  const three = { postings: 4, spent: [7, 7, 7, 7], held: 0, unpaid: 2, last: "three" };
  expect(await foundIn(appended)).toEqual(two);
  expect(await foundIn(uncommitted)).toEqual(two);
  expect(await foundIn(committed)).toEqual(three);
  expect(await foundIn(applying)).toEqual(three);
  expect(await foundIn(behindAgain)).toEqual({
    postings: 5,
    spent: [15, 15, 15, 15],
    held: 0,
    unpaid: 3,
    last: "four",
  });
});

test("a log that breaks off anywhere ends at a whole posting, and its sums agree", async () => {
  const here = openHere(file);
  here.commit(() => void here.operations.openAccount(newAccount("a", 1_000)));
  const from = readFileSync(`${file}-wal`).length;
  for (let at = 0; at < 6; at++) here.commit(() => here.charge(`h${at}`, 1));
  here.database.exec("BEGIN IMMEDIATE");
  here.unit.catchUp?.();
  here.database.exec("COMMIT");
  const whole = readFileSync(`${file}-wal`);
  const copy = killed("torn");
  here.close();
  let seen = 0;
  for (let cut = from; cut <= whole.length; cut += Math.ceil((whole.length - from) / 5)) {
    const torn = join(folder, `torn-${cut}`);
    copyFileSync(copy, torn);
    writeFileSync(`${torn}-wal`, whole);
    truncateSync(`${torn}-wal`, cut);
    const { spent } = await foundIn(torn);
    expect(new Set(spent).size).toBe(1);
    expect(spent[0]).toBeGreaterThanOrEqual(seen);
    seen = spent[0] ?? 0;
  }
  expect(seen).toBeGreaterThan(3);
});

test("a rollback, a backup and reports lose nothing of what waits in memory", async () => {
  const ledger = sqliteLedger(await openLedgerThread(file, clock));
  await ledger.openAccount(newAccount("a", 1_000));
  for (let at = 0; at < 3; at++) await charge(ledger, hold(`h${at}`, 1));
  // Its key exists already, so the batch is rolled back and its operations run one by one.
  const [credited] = await Promise.all([
    ledger.topUp("a", "t", nano(5 * CENT), "invoice"),
    expect(ledger.createKey("a", newKey("a.key"))).rejects.toMatchObject({ code: "ledger_unavailable" }),
  ]);
  expect(credited).toEqual({ outcome: "credited", balanceNano: 1_002 * CENT });
  await charge(ledger, hold("h3", 1));
  const backup = join(folder, "backup.db");
  await ledger.backup(backup);
  await charge(ledger, hold("h4", 1));
  const usage = await pagesOf(ledger, { ...EVERYTHING, by: ["account"], kind: "charged" });
  expect(usage).toMatchObject([{ calls: 5, amountNano: String(5 * CENT) }]);
  expect((await ledger.doctor({ file: true })).findings).toEqual([]);
  await ledger.close();
  for (const [path, cents] of [
    [backup, 4],
    [file, 5],
  ] as const) {
    const again = sqliteLedger(await openLedgerThread(path, clock));
    expect(await again.account("a")).toMatchObject({ spentNano: cents * CENT, grantedNano: 1_005 * CENT });
    expect((await again.doctor({ file: true })).findings).toEqual([]);
    await again.close();
  }
});

test("sums that wait are written together once there are hundreds, and all of them at the end", async () => {
  const ledger = sqliteLedger(await openLedgerThread(file, clock));
  await ledger.openAccount(newAccount("a", 1_000));
  const stored = async () => {
    const copy = killed(`seen-${Math.random()}`);
    const { database, close } = openShared(copy, "none");
    const row = database.prepare("SELECT last, (SELECT MAX(seq) FROM posting) AS postings FROM counted").get();
    close();
    return { ...row };
  };
  for (let at = 0; at < 3; at++) await charge(ledger, hold(`h${at}`, 0));
  // The first use of the key was written, and the credit with it.
  expect(await stored()).toEqual({ last: 1, postings: 4 });
  await Promise.all(Array.from({ length: 300 }, (_, at) => charge(ledger, hold(`more ${at}`, 0))));
  await ledger.totals();
  expect((await stored()).last).toBeGreaterThan(200);
  await ledger.close();
  expect(await stored()).toEqual({ last: 304, postings: 304 });
});

test("the first use of a key is on disk with its event, so that no start reports it again", async () => {
  const here = openHere(file);
  here.commit(() => void here.operations.openAccount(newAccount("a", 1_000)));
  here.commit(() => void here.operations.reserve(reserveList(holdRequest(hold("h", 1), { unwritten: true }))));
  const copy = killed("used");
  here.close();
  const ledger = sqliteLedger(await openLedgerThread(copy, clock));
  expect((await ledger.key("a", "a.key"))?.lastUsedAtMs).toBe(START_MS);
  expect(await ledger.events(9)).toMatchObject([{ kind: "key.first_use" }]);
  await ledger.close();
});

test("a run leaves memory once its sums are written, unless a hold counts toward it", () => {
  const here = openHere(file);
  here.commit(() => void here.operations.openAccount(newAccount("a", 1_000)));
  const state = new LedgerState(new AccountTables(here.database), new EntryTables(here.database), {
    epochMs: clock.epochMs(),
    elapsedMs: clock.elapsedMs(),
  });
  const run = (id: string): Window => ({ ...GROUP, scope: `run:${id}`, period: "run", max: nano(9 * CENT) });
  const place = (id: string, of = id) =>
    reserve(state, reserveOf(reserveList(holdRequest(hold(id, 2), { windows: [GROUP, run(of)] }))));
  place("ended");
  place("open");
  post(state, postRequest(hold("ended", 2)));
  const runs = () => [...(state.accounts.inMemory("a")?.scopes.keys() ?? [])].filter((name) => name.startsWith("run:"));
  expect(runs()).toEqual(["run:ended", "run:open"]);
  state.catchUp();
  expect(runs()).toEqual(["run:open"]);
  place("again", "ended");
  expect(state.accounts.inMemory("a")?.scopes.get("run:ended")?.days.get(0)).toMatchObject({ spent: 2 * CENT });
  here.close();
});

test("a new hold writes nothing once its key was used, unless it must outlive its process", () => {
  const here = openHere(file);
  const { unit, operations, database } = here;
  const rows = () => database.prepare("SELECT total_changes() AS rows").get()?.rows;
  const of = (id: string, more: Partial<ReserveRequest> = {}) =>
    reserveList(holdRequest(hold(id, 400), { unwritten: true, isNew: true, windows: WINDOWS, ...more }));
  const stays = (list: ReserveList) => unit.unwritten?.reserve?.(list as never);
  here.commit(() => void operations.openAccount(newAccount("a", 1_000)));
  expect(stays(of("first"))).toBe(false);
  here.commit(() => void operations.reserve(of("first")));
  const idempotency = { key: "k", fingerprint: "f", keepMs: 9 };
  const written: Partial<ReserveRequest>[] = [{ unwritten: false }, { idempotency }, { onExpire: "post-accrued" }];
  for (const more of [...written, { isNew: false }, { keyId: "none" }, { accountId: "none" }])
    expect(stays(of("second", more))).toBe(false);
  const before = rows();
  for (const [id, outcome] of [
    ["second", "held"],
    ["third", "window_full"],
    ["second", "exists"],
  ] as const) {
    expect(stays(of(id))).toBe(true);
    expect(operations.reserve(of(id))).toMatchObject({ outcome });
  }
  // Nothing else may run outside a transaction.
  expect(Object.keys(unit.unwritten ?? {})).toEqual(["reserve", "place", "standing", "renew"]);
  operations.place([of("fourth"), START_MS, 0]);
  operations.renew([[{ accountId: "a", holdId: "second" }], 9]);
  expect(operations.standing({ accountId: "a", holdId: "second" })).toBe("good");
  expect(rows()).toBe(before);
  here.close();
});

test("a hold in memory that grows is written with what it holds then", async () => {
  const here = openHere(file);
  here.commit(() => void here.operations.openAccount(newAccount("a", 1_000)));
  here.commit(() => void here.operations.reserve(reserveList(holdRequest(hold("h", 1), { unwritten: true }))));
  const ref = { accountId: "a", holdId: "h" };
  here.commit(() => {
    const more = { hold: ref, amountNano: nano(3 * CENT), accrued: nano(CENT), leaseMs: 9 };
    expect(here.operations.extend(more)).toEqual({ outcome: "extended", amountNano: 3 * CENT });
  });
  const copy = killed("grown");
  here.close();
  expect(await foundIn(copy)).toMatchObject({ held: 3, spent: [0, 0, 0, 0] });
});
