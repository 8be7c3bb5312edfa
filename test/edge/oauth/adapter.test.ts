// The authorization server's storage: how long entries last, single use, and that they exist only as long as the grant's key row.
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { adapterOf, keepClient, UNUSED_CLIENT_MS } from "../../../src/edge/oauth/adapter.ts";
import type { Records } from "../../../src/platform/records/records.ts";
import { RECORDS_UNIT, sqliteRecords } from "../../../src/platform/records/sqlite-records.ts";
import { openSqliteThread } from "../../../src/platform/storage/sqlite-thread.ts";
import type { SqliteThread } from "../../../src/platform/storage/thread-client.ts";
import { folderForTest } from "../../support/for-file.ts";
import { type ManualClock, manualClock } from "../../support/manual-clock.ts";

let folder: string;
let thread: SqliteThread;
let clock: ManualClock;
let records: Records;
beforeEach(async () => {
  folder = folderForTest("tollgate-adapter-");
  clock = manualClock(Date.UTC(2026, 10, 23));
  thread = await openSqliteThread({
    file: join(folder, "records.db"),
    units: { records: RECORDS_UNIT },
    sharing: "readers",
    clock,
    onFatal: (error) => {
      throw error;
    },
  });
  records = sqliteRecords(thread);
});
afterEach(async () => {
  await thread.close();
});

const GOOD = { make: async () => null, isGood: async () => true, revoke: async () => {} };
const adapter = (name: string, grants = GOOD) => adapterOf(name, { records, clock, grants, readToken: () => null });

it("forgets a client that no person has agreed to after a day, and keeps one that a person has", async () => {
  const clients = adapter("Client");
  await clients.upsert("unused", { client_id: "unused" }, 0);
  await clients.upsert("used", { client_id: "used" }, 0);
  await keepClient({ records }, "used");
  clock.advance(UNUSED_CLIENT_MS + 1);
  expect(await clients.find("unused")).toBeUndefined();
  expect(await clients.find("used")).toEqual({ client_id: "used" });
});

it("lets a code be used once, of two at once as well", async () => {
  const codes = adapter("AuthorizationCode");
  await codes.upsert("code", { grantId: "key_1" }, 60);
  const both = await Promise.allSettled([codes.consume("code"), codes.consume("code")]);
  expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect((await codes.find("code"))?.consumed).toBe(Math.floor(clock.epochMs() / 1_000));
});

it("forgets a code when its time is over, used or not", async () => {
  const codes = adapter("AuthorizationCode");
  await codes.upsert("code", { grantId: "key_1" }, 60);
  clock.advance(30_000);
  await codes.consume("code");
  clock.advance(30_001);
  expect(await codes.find("code")).toBeUndefined();
});

it("has no grant whose key row is gone", async () => {
  await adapter("Grant").upsert("key_1", { accountId: "acct_1" }, 3_600);
  expect(await adapter("Grant").find("key_1")).toEqual({ accountId: "acct_1" });
  const gone = { ...GOOD, isGood: async () => false };
  expect(await adapter("Grant", gone).find("key_1")).toBeUndefined();
});
