import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { nano } from "../../../../src/core/money.ts";
import { sqliteLedger } from "../../../../src/money/ledger/sqlite/ledger.ts";
import { LEDGER_SCHEMA } from "../../../../src/money/ledger/sqlite/schema.ts";
import { openDatabase } from "../../../../src/platform/storage/open-database.ts";
import { migrate, migratedTo } from "../../../../src/platform/storage/sqlite-unit.ts";
import { folderForTest } from "../../../support/for-file.ts";
import { manualClock } from "../../../support/manual-clock.ts";
import { removeFolder } from "../../../support/remove-folder.ts";
import { CENT, holdRequest, newKey, postRequest } from "../requests.ts";
import { openLedgerThread, START_MS } from "../store.ts";
import { EVERYTHING, pagesOf } from "../usage/contract.ts";

const clock = manualClock(START_MS);
const DAY = Math.floor(START_MS / 86_400_000);
let folder: string;
beforeEach(() => {
  folder = folderForTest("tollgate-schema-");
});

/** A ledger of the first version: an account with credit, a charge, a live hold, a ceiling, and an idempotency key. */
const FIRST_VERSION = `
  INSERT INTO account VALUES
    ('a', 'Ada', 'personal', 1, 0, ${1_000 * CENT}, 600, 64, ${100 * CENT}, ${3 * CENT}, ${46 * CENT}, ${START_MS}, 2);
  INSERT INTO api_key VALUES
    ('a.key', 'a', 1, 'hash of a.key', 'tg_sk_ab...yz', 'primary', NULL, 0, NULL, NULL, 1, NULL),
    ('agent', 'a', 0, 'hash of agent', 'tg_sk_cd...wx', 'robot', 'r-1', 1, ${50 * CENT}, 'week', 2, ${START_MS});
  INSERT INTO posting (seq, transaction_id, kind, account_id, created_at, amount, charged_cents, reference)
    VALUES (1, 'open_a', 'topup', 'a', ${START_MS - 1}, ${100 * CENT}, 0, 'opening credit');
  INSERT INTO posting
    (seq, transaction_id, kind, account_id, key_id, created_at, day, inference, amount, charged_cents, absorbed,
      before_of_account)
    VALUES (2, 'tx_1', 'charge', 'a', 'agent', ${START_MS}, ${DAY}, 1, ${3 * CENT}, 3, ${46 * CENT}, 1);
  INSERT INTO spent_day VALUES ('key:agent', ${DAY}, ${3 * CENT}, 2), ('inference:a', ${DAY}, ${3 * CENT}, 2);
  INSERT INTO hold VALUES ('tx_2', 'a', 'a.key', ${5 * CENT}, 0, ${DAY}, 0, '[]', 'process-1', 60000, 'void', 'read',
    NULL, 'req_2', 'chat', 'core/cheap', 'order', ${START_MS});
  INSERT INTO idempotency VALUES ('a', 'a.key', 'order', 'body', 'tx_2', 'held', 'read', ${START_MS + 86_400_000});
`;

function firstVersion(): string {
  const file = join(folder, "tollgate.db");
  const database = openDatabase(file);
  migrate(database, "ledger", LEDGER_SCHEMA.slice(0, 1));
  database.exec(FIRST_VERSION);
  database.close();
  return file;
}

test("a file of an older version is copied once before its tables change", async () => {
  const file = firstVersion();
  const copy = `${file}.ledger-1`;
  mkdirSync(join(`${copy}.part`, "in the way"), { recursive: true });
  const why = /is of an older version and cannot be copied before it changes/;
  await expect(openLedgerThread(file, clock)).rejects.toThrow(why);
  expect(versionOf(file)).toBe(1);
  removeFolder(`${copy}.part`);
  for (let opening = 0; opening < 2; opening++) {
    await (await openLedgerThread(file, clock)).close();
    expect(versionOf(file)).toBe(LEDGER_SCHEMA.length);
    expect(readdirSync(folder).filter((name) => name.includes("ledger-"))).toEqual(["tollgate.db.ledger-1"]);
  }
  expect(versionOf(copy)).toBe(1);
});

function versionOf(file: string): number {
  const database = openDatabase(file);
  const version = migratedTo(database, "ledger");
  database.close();
  return version;
}

test("a ledger of the first version opens, keeps everything, and takes what is new", async () => {
  const file = firstVersion();
  let ledger = sqliteLedger(await openLedgerThread(file, clock));
  expect(await ledger.account("a")).toMatchObject({
    ...{ name: "Ada", grantedNano: 100 * CENT, spentNano: 3 * CENT, heldNano: 5 * CENT },
  });
  const free = { services: null, models: null, expiresAtMs: null };
  expect(await ledger.keys("a")).toMatchObject([
    { keyId: "a.key", primary: true, paused: false, ceilingNano: null, ...free },
    {
      ...{ keyId: "agent", label: "robot", externalId: "r-1", paused: true, ceilingNano: 50 * CENT },
      ...{ ceilingPeriod: "week", periodSpentNano: 3 * CENT, lastUsedAtMs: START_MS, ...free },
    },
  ]);
  // The first opening computes its daily sums, once.
  const spent = () => pagesOf(ledger, { ...EVERYTHING, by: ["account", "key", "day"], kind: "charged" });
  const agents = { group: { account: "a", key: "agent", day: "2026-03-12" }, calls: 1, amountNano: String(3 * CENT) };
  expect(await spent()).toMatchObject([agents]);
  expect(await ledger.post(postRequest({ accountId: "a", holdId: "tx_2", cents: 4 }))).toMatchObject({
    ...{ outcome: "posted", balanceNano: 93 * CENT },
  });
  const limits = { services: ["files"], models: [], expiresAtMs: START_MS + 1 };
  await ledger.createKey("a", newKey("new", limits));
  await ledger.patchKey("a", "agent", { paused: false, models: ["core/cheap"] });
  const hold = { accountId: "a", holdId: "tx_3", cents: 1, nowMs: clock.epochMs() };
  // What was absorbed before counts in the windows from now on.
  expect(await ledger.reserve(holdRequest(hold, { keyId: "agent", amountNano: nano(2 * CENT) }))).toMatchObject({
    ...{ outcome: "ceiling", spentNano: 3 * CENT, absorbedNano: 46 * CENT },
  });
  expect(await ledger.reserve(holdRequest(hold, { keyId: "agent", amountNano: nano(CENT) }))).toEqual({
    outcome: "held",
  });
  await ledger.close();
  ledger = sqliteLedger(await openLedgerThread(file, clock));
  expect(await ledger.keyByHash("hash of new")).toMatchObject(limits);
  expect(await ledger.keyByHash("hash of agent")).toMatchObject({ services: null, models: ["core/cheap"] });
  expect(await spent()).toMatchObject([{ group: { key: "a.key" }, amountNano: String(4 * CENT) }, agents]);
  expect((await ledger.doctor({ file: true })).findings).toEqual([]);
  await ledger.close();
});

test("a ledger of a later version is left alone", async () => {
  const file = firstVersion();
  const database = openDatabase(file);
  database.exec(`UPDATE schema_version SET version = ${LEDGER_SCHEMA.length + 1}`);
  database.close();
  await expect(openLedgerThread(file, clock)).rejects.toThrow(/newer than this program's/);
});
