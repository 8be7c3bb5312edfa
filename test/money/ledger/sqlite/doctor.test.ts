import { copyFileSync, existsSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { nano } from "../../../../src/core/money.ts";
import type { Finding } from "../../../../src/money/ledger/model/ledger.ts";
import type { Window } from "../../../../src/money/ledger/model/window-list.ts";
import { openInquiry } from "../../../../src/money/ledger/sqlite/books-doctor.ts";
import { postList, reserveList } from "../../../../src/money/ledger/sqlite/compact.ts";
import { sqliteLedger } from "../../../../src/money/ledger/sqlite/ledger.ts";
import { type LedgerOperations, openUnit } from "../../../../src/money/ledger/sqlite/unit.ts";
import { openDatabase } from "../../../../src/platform/storage/open-database.ts";
import { folderForFile } from "../../../support/for-file.ts";
import { manualClock } from "../../../support/manual-clock.ts";
import { CENT, charge, holdRequest, newAccount, newKey, postRequest } from "../requests.ts";
import { openLedgerThread, START_MS } from "../store.ts";

const folder = folderForFile("tollgate-doctor-");
const sound = join(folder, "sound.db");
const clock = manualClock(START_MS);

const GROUP: Window = {
  ...{ scope: "group:7", period: "day", max: nano(9 * CENT), code: "api_key_limit_exceeded", counts: "charge" },
};
const WINDOWS: readonly Window[] = [GROUP, { ...GROUP, scope: "unpaid", counts: "unpaid", max: null }];

beforeAll(async () => {
  const ledger = sqliteLedger(await openLedgerThread(sound, clock));
  const hold = (holdId: string, cents: number) => ({ accountId: "a", holdId, cents, nowMs: clock.epochMs() });
  await ledger.openAccount(newAccount("a", 100));
  await ledger.openAccount(newAccount("b", 100));
  await ledger.createKey("a", newKey("revoked"));
  await charge(ledger, hold("one", 3));
  await ledger.reserve(holdRequest(hold("two", 4), { keyId: "revoked" }));
  await ledger.post(postRequest(hold("two", 9)));
  await ledger.deleteKey("a", "revoked");
  await ledger.refund("one", "refund of one", "test");
  await ledger.reserve(holdRequest(hold("live", 5), { slots: [{ scope: "s", max: 9, code: "concurrency_limit" }] }));
  await ledger.void(hold("gone", 0), "test");
  await ledger.reserve(holdRequest({ ...hold("miss", 1), accountId: "b" }, { windows: WINDOWS, keyId: "b.key" }));
  await ledger.void({ accountId: "b", holdId: "miss" }, "a miss", { upstreamNano: nano(CENT) });
  await ledger.reserve(holdRequest({ ...hold("grouped", 1), accountId: "b" }, { windows: WINDOWS, keyId: "b.key" }));
  await ledger.post(postRequest({ ...hold("grouped", 1), accountId: "b" }, { upstreamNano: nano(3 * CENT) }));
  await ledger.topUp("a", "t", nano(CENT), "invoice");
  await ledger.close();
});

/** The doctor's findings in a copy of the sound ledger after `sql`. */
function findingsAfter(sql: string): readonly Finding[] {
  const file = join(folder, "broken.db");
  copyFileSync(sound, file);
  const database = openDatabase(file);
  try {
    database.exec(`PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF; ${sql}`);
    const { operations } = openUnit(database, { epochMs: clock.epochMs(), elapsedMs: clock.elapsedMs() });
    const { examine } = operations as Pick<LedgerOperations, "examine">;
    const examineBooks = openInquiry(database);
    return [examine, examineBooks].flatMap((look) => {
      for (let begin = true; ; begin = false) {
        const { done, seen } = look({ begin, file: true });
        if (done) return seen.findings;
      }
    });
  } finally {
    database.close();
    rmSync(file);
  }
}

test("a sound ledger has no findings, and everything was looked at", async () => {
  expect(findingsAfter("")).toEqual([]);
  const ledger = sqliteLedger(await openLedgerThread(sound, clock));
  expect(await ledger.doctor()).toEqual({ accounts: 2, holds: 1, postings: 7, findings: [] });
  await ledger.close();
});

describe("each broken invariant is named, with the numbers", () => {
  test.each([
    ["I1", "UPDATE account SET spent = spent + 1 WHERE account_id = 'a'", /spent is 70000001, .* 70000000/],
    ["I1", "UPDATE account SET granted = granted + 7 WHERE account_id = 'b'", /granted is 1000000007, .* 1000000000/],
    ["I1", "DELETE FROM posting WHERE transaction_id = 'two'", /missing/],
    [
      "I1",
      "INSERT INTO posting (transaction_id, kind, account_id, created_at, amount, charged_cents) VALUES ('stray', 'charge', 'a', 1, 1, 0)",
      /8 postings are stored, 7/,
    ],
    ["I3", "UPDATE hold SET amount = 5000000000", /exceed the granted/],
    ["I4", "UPDATE spent_day SET spent = spent - 1 WHERE scope = 'inference:a'", /inference:a .* 69999999/],
    ["I4", "UPDATE spent_day SET spent = spent - 1 WHERE scope = 'key:revoked'", /key:revoked .* 39999999/],
    [
      "I4",
      "UPDATE spent_day SET absorbed = 7 WHERE scope = 'key:revoked'",
      /key:revoked .* 7 is absorbed, .* 50000000/,
    ],
    [
      "I4",
      "UPDATE spent_day SET absorbed = 0 WHERE scope = 'inference:a'",
      /inference:a .* 0 is absorbed, .* 50000000/,
    ],
    ["I4", "INSERT INTO spent_day (scope, day, spent) VALUES ('key:b.key', 5, 5)", /key:b.key 5 says 5/],
    ["I4", "UPDATE spent_day SET spent = 7 WHERE scope = 'of:b:group:7'", /of:b:group:7 .* 7 is spent, .* 10000000/],
    ["I4", "INSERT INTO spent_day (scope, day, spent) VALUES ('of:b:tag:x', 5, 5)", /of:b:tag:x 5 says 5/],
    ["I15", "UPDATE spent_day SET spent = 19999999 WHERE scope = 'of:b:unpaid'", /says 19999999, .* alone .* 20000000/],
    ["I6", "UPDATE posting SET key_id = 'a.key' WHERE transaction_id = 'two'", /one is missing from its key's list/],
    [
      "I6",
      "INSERT INTO tombstone (hold_id, account_id, state, reason, ended_at) VALUES ('live', 'a', 'voided', '', 1)",
      /live is live and voided/,
    ],
    [
      "I6",
      "INSERT INTO idempotency VALUES ('a', 'a.key', 'k', 'f', 'one', 'held', 'read', 1)",
      /one is held, its hold is posted/,
    ],
    [
      "I6",
      "INSERT INTO idempotency VALUES ('a', 'a.key', 'k', 'f', 'one', 'answered', 'read', 1)",
      /one is answered, its hold is posted/,
    ],
    [
      "I6",
      "INSERT INTO idempotency VALUES ('a', 'a.key', 'k', 'f', 'gone', 'posted', 'write', 1)",
      /gone is posted, its hold is voided/,
    ],
    [
      "I6",
      "INSERT INTO idempotency VALUES ('a', 'a.key', 'k', 'f', 'pruned', 'free', 'read', 1)",
      /pruned is free, its hold is forgotten/,
    ],
    [
      "I7",
      "UPDATE posting SET charged_cents = charged_cents + 1 WHERE transaction_id = 'one'",
      /8, what is spent is 7/,
    ],
    ["I9", "UPDATE account SET absorbed = 0 WHERE account_id = 'a'", /absorbed is 0, .* 50000000/],
    [
      "I9",
      "UPDATE posting SET amount = amount + 1 WHERE kind = 'refund'",
      /30000001 was refunded for one, which charged 30000000/,
    ],
    ["I13", `UPDATE posting SET legs = '[["vendor","m",8,1]]' WHERE transaction_id = 'one'`, /one cost us 7, .* to 8/],
    ["I12", "UPDATE posting SET created_at = created_at + 1 WHERE transaction_id = 'one'", /one is of/],
  ])("%s: %s", (invariant, sql, detail) => {
    const findings = findingsAfter(sql);
    expect(findings).toContainEqual(expect.objectContaining({ invariant, detail: expect.stringMatching(detail) }));
  });

  test("a void that comes when the end of its hold is forgotten contradicts nothing", () => {
    const key = "INSERT INTO idempotency VALUES ('a', 'a.key', 'k', 'f', 'gone', 'expired', 'write', 1)";
    expect(findingsAfter(key)).toEqual([]);
  });

  test("I8: a lease that ended long ago", async () => {
    const ledger = sqliteLedger(await openLedgerThread(sound, clock));
    clock.advance(121_000);
    expect((await ledger.doctor()).findings).toMatchObject([{ invariant: "I8", accountId: "a" }]);
    await ledger.close();
  });
});

test("the books are read some thousand rows at a time; what a deleted key's call has charged since its account was read is no finding", () => {
  const file = join(folder, "busy.db");
  copyFileSync(sound, file);
  const database = openDatabase(file);
  const unit = openUnit(database, { epochMs: clock.epochMs(), elapsedMs: clock.elapsedMs() });
  const operations = unit.operations as unknown as LedgerOperations;
  const inOneCommit = (work: () => unknown) => {
    database.exec("BEGIN");
    work();
    unit.catchUp?.();
    database.exec("COMMIT");
  };
  const hold = (holdId: string) => ({ accountId: "a", holdId, cents: 0, nowMs: clock.epochMs() });
  const reserve = (holdId: string) => operations.reserve(reserveList(holdRequest(hold(holdId), { keyId: "doomed" })));
  const post = (holdId: string) => operations.post(postList(postRequest(hold(holdId))));
  inOneCommit(() => {
    operations.createKey(["a", newKey("doomed")]);
    for (let at = 0; at < 2_100; at++) {
      reserve(`of many ${at}`);
      post(`of many ${at}`);
    }
    operations.reserve(reserveList(holdRequest({ ...hold("late"), cents: 2 }, { keyId: "doomed" })));
    operations.deleteKey(["a", "doomed"]);
  });
  const look = openInquiry(database);
  expect(look({ begin: true, file: false })).toMatchObject({ done: false, seen: { accounts: 1, postings: 0 } });
  inOneCommit(() => operations.post(postList(postRequest({ ...hold("late"), cents: 2 }))));
  let visit = look({ begin: false, file: false });
  while (!visit.done) visit = look({ begin: false, file: false });
  expect(visit.seen).toEqual({ accounts: 2, postings: 2_107, findings: [] });
  database.close();
});

test("a backup made while calls run is whole, private, and never overwrites", async () => {
  const file = join(folder, "source.db");
  copyFileSync(sound, file);
  const ledger = sqliteLedger(await openLedgerThread(file, clock));
  const path = join(folder, "backup.db");
  let running = true;
  const backup = ledger.backup(path).finally(() => {
    running = false;
  });
  let made = 0;
  while (running) await charge(ledger, { accountId: "b", holdId: `b${made++}`, cents: 0, nowMs: clock.epochMs() });
  await backup;
  await expect(ledger.backup(path)).rejects.toThrow(`${path} is there already`);
  await ledger.close();
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(existsSync(`${path}-wal`)).toBe(false);
  const copy = sqliteLedger(await openLedgerThread(path, clock));
  const report = await copy.doctor({ file: true });
  expect(report.findings).toEqual([]);
  expect(report.postings).toBeGreaterThanOrEqual(6);
  await copy.close();
});
