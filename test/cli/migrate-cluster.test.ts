import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { run } from "../../src/cli/run.ts";
import { systemClock as clock } from "../../src/core/clock.ts";
import { LEDGER_UNIT, sqliteLedger } from "../../src/money/ledger/sqlite/ledger.ts";
import { RECORDS_UNIT, sqliteRecords } from "../../src/platform/records/sqlite-records.ts";
import { openSqliteThread } from "../../src/platform/storage/sqlite-thread.ts";
import { charge, newAccount } from "../money/ledger/requests.ts";
import { NO_BOUNDS } from "../money/ledger/store.ts";
import { REDIS_MS_MAX, startRedisCluster } from "../support/redis.ts";
import { removeFolder } from "../support/remove-folder.ts";

test("a ledger moves to a cluster and back, and its copy is restored there", { timeout: REDIS_MS_MAX }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-migrate-"));
  const cluster = await startRedisCluster();
  const units = { ledger: LEDGER_UNIT, records: RECORDS_UNIT };
  const file = join(folder, "tollgate.db");
  const thread = await openSqliteThread({ file, units, clock, disk: NO_BOUNDS, onFatal: console.error });
  const [ledger, records] = [sqliteLedger(thread), sqliteRecords(thread)];
  for (let at = 0; at < 12; at++) {
    const accountId = `account-${at}`;
    await ledger.openAccount(newAccount(accountId, 100));
    await charge(ledger, { accountId, holdId: `tx-${at}`, cents: 1, nowMs: clock.epochMs() });
    await records.put({ kind: "job", id: `${at}`, payer: accountId, value: "x", ttlMs: 100_000, ifVersion: null });
  }
  await thread.close();
  const said: string[] = [];
  const tollgate = async (environment: Record<string, string>, ...words: string[]) => {
    const say = (line: string) => said.push(line);
    const place = { ADMIN_PORT: "1", DATA_DIR: folder, ...environment };
    if ((await run(words, { environment: place, out: say, err: say })) !== 0) throw new Error(said.at(-1));
  };
  const redis = { REDIS_URL: cluster.url };
  await tollgate({}, "migrate", "--to", cluster.url);
  await tollgate(redis, "backup", join(folder, "copy"));
  for (const node of cluster.nodes) await node.send("FLUSHALL");
  await tollgate(redis, "restore", join(folder, "copy"));
  await tollgate(redis, "migrate", "--to", join(folder, "back"));
  await tollgate({ DATA_DIR: join(folder, "back") }, "doctor");
  const back = expect.stringMatching(/^Moved 12 accounts, 24 postings and 12 records/);
  expect(said).toEqual([
    back,
    `Written to ${join(folder, "copy")}.`,
    "Restored 12 accounts with 24 postings: all in order.",
    back,
    // Followed by lines about unconfirmed facts of vendors.
    expect.stringMatching(/^12 accounts, 0 open holds, 24 postings: all in order\.$/m),
  ]);
  await cluster.dispose();
  removeFolder(folder);
});
