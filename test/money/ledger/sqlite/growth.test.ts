import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { fillLedger } from "../../../../bench/fill-ledger.ts";
import { nano } from "../../../../src/core/money.ts";
import { AccountTables } from "../../../../src/money/ledger/sqlite/accounts.ts";
import * as admin from "../../../../src/money/ledger/sqlite/admin.ts";
import { reserveList, reserveOf } from "../../../../src/money/ledger/sqlite/compact.ts";
import { EntryTables } from "../../../../src/money/ledger/sqlite/entries.ts";
import { sqliteLedger } from "../../../../src/money/ledger/sqlite/ledger.ts";
import { reserve } from "../../../../src/money/ledger/sqlite/reserve.ts";
import { LedgerState } from "../../../../src/money/ledger/sqlite/state.ts";
import { type LedgerOperations, listTransactions, openUnit } from "../../../../src/money/ledger/sqlite/unit.ts";
import { openDatabase } from "../../../../src/platform/storage/open-database.ts";
import { folderForTest } from "../../../support/for-file.ts";
import { manualClock } from "../../../support/manual-clock.ts";
import { CENT, charge, holdRequest, newAccount, newKey } from "../requests.ts";
import { openLedgerThread, START_MS } from "../store.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = folderForTest("tollgate-growth-");
  file = join(folder, "tollgate.db");
});

const clock = manualClock(START_MS);
/** More than the memory cache keeps. */
const MANY = 20_500;

test("with more accounts than are kept in memory, who has not called longest leaves; who looks at all drives nobody out", () => {
  const database = openDatabase(file);
  const unit = openUnit(database, { epochMs: clock.epochMs(), elapsedMs: clock.elapsedMs() });
  const operations = unit.operations as unknown as LedgerOperations;
  database.exec("BEGIN");
  for (let at = 0; at < MANY; at++) {
    operations.openAccount(newAccount(`a${at}`, 0));
    if (at % 100 < 99) continue;
    // A caller that is active all the time.
    operations.account(["a0"]);
    unit.flush();
  }
  let visit = operations.examine({ begin: true });
  let looks = 1;
  for (; !visit.done; looks++) visit = operations.examine({ begin: false });
  expect(visit.seen.findings).toEqual([]);
  // Calls wait for each look, so a look covers few accounts.
  expect(looks).toBeGreaterThan(1_000);
  expect(operations.accounts([])).toHaveLength(MANY);
  unit.flush();
  // An account still in use stays in memory.
  database.exec("UPDATE account SET name = 'read from the file'; COMMIT");
  const nameOf = (accountId: string) => operations.account([accountId])?.name;
  expect(nameOf("a0")).toBe("a0");
  expect(nameOf(`a${MANY - 1}`)).toBe(`a${MANY - 1}`);
  expect(nameOf("a1")).toBe("read from the file");
  database.close();
});

test("sums that are only read do not stay in memory; those of holds do", () => {
  const database = openDatabase(file);
  const time = { epochMs: clock.epochMs(), elapsedMs: clock.elapsedMs() };
  openUnit(database, time);
  database.exec("BEGIN");
  const state = new LedgerState(new AccountTables(database), new EntryTables(database), time);
  admin.openAccount(state, newAccount("a", 1_000));
  const scopes = () => [...(state.accounts.inMemory("a")?.scopes.keys() ?? [])];
  const readAll = () => {
    for (let at = 0; at < 1_000; at++) admin.periodSums(state, ["a", [{ scope: `run:${at}`, period: "run" }]]);
    for (let at = 0; at < 100; at++) {
      admin.createKey(state, ["a", newKey(`agent ${at}`)]);
      admin.oneKey(state, ["a", `agent ${at}`]);
      admin.deleteKey(state, ["a", `agent ${at}`]);
    }
    admin.spentToday(state, ["a", ["group:unused"]]);
    listTransactions(state, { accountId: "a", keyId: "unknown", limit: 1, cursor: null });
    admin.keyRows(state, ["a"]);
  };
  readAll();
  expect(scopes()).toEqual([]);
  const hold = holdRequest({ accountId: "a", holdId: "hold", cents: 2, nowMs: clock.epochMs() });
  reserve(state, reserveOf(reserveList(hold)));
  const held = scopes();
  expect(held).toContain("key:a.key");
  readAll();
  expect(scopes()).toEqual(held);
  expect(admin.oneKey(state, ["a", "a.key"])).toMatchObject({ periodHeldNano: 2 * CENT });
  database.exec("COMMIT");
  database.close();
});

test("all accounts together may have spent more than a number counts exactly, and a rollback takes nothing of it", async () => {
  let ledger = sqliteLedger(await openLedgerThread(file, clock));
  const cents = 800_000_000;
  for (const accountId of ["a", "b"]) {
    await ledger.openAccount(newAccount(accountId, cents, { inferenceCapNano: nano(9e15) }));
    await charge(ledger, { accountId, holdId: `of ${accountId}`, cents, nowMs: clock.epochMs() });
  }
  const spent = { accounts: 2, spentNano: "16000000000000000", absorbedNano: "0" };
  expect(await ledger.totals()).toMatchObject(spent);
  // The key exists already: its batch is rolled back, and done again without it.
  const credit = ledger.topUp("a", "credit", nano(3e7), "three cents");
  const calls = Promise.all([credit, ledger.createKey("a", newKey("a.key")).catch(() => "rejected")]);
  expect(await calls).toEqual([expect.objectContaining({ outcome: "credited" }), "rejected"]);
  await charge(ledger, { accountId: "a", holdId: "another", cents: 3, nowMs: clock.epochMs() });
  const more = { ...spent, spentNano: "16000000030000000" };
  expect(await ledger.totals()).toMatchObject(more);
  await ledger.close();
  ledger = sqliteLedger(await openLedgerThread(file, clock));
  expect(await ledger.totals()).toMatchObject(more);
  expect((await ledger.doctor()).findings).toEqual([]);
  await ledger.close();
});

test.each([
  { accounts: 1_000, postings: 10_000 },
  { accounts: 7, postings: 700 },
  { accounts: 20, postings: 20 },
])(
  "what the bench fills a file with is a ledger without findings: $accounts accounts, $postings postings",
  async (size) => {
    const filled = fillLedger(file, {
      ...size,
      startMs: START_MS - (START_MS % 86_400_000) - 30 * 86_400_000,
      known: 2,
    });
    const ledger = sqliteLedger(await openLedgerThread(file, clock));
    const [known] = filled.known;
    expect(filled.postings).toBeGreaterThan(size.postings * 0.95);
    expect(await ledger.doctor()).toEqual({
      accounts: size.accounts,
      holds: 0,
      postings: filled.postings,
      findings: [],
    });
    expect(await ledger.key(known?.accountId ?? "", known?.keyId ?? "")).toMatchObject({ primary: true });
    await ledger.close();
  },
);
