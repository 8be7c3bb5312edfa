// File stores that a parent serves to its children: what happens to a child's holds when they cannot be ended at once.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { machineClock } from "../../src/core/clock.ts";
import { openStores } from "../../src/gateway/stores.ts";
import { readConfig } from "../../src/platform/config.ts";
import { holdRequest, newAccount } from "../money/ledger/requests.ts";
import { folderForTest } from "../support/for-file.ts";

test("holds of a child that has left, which could not be ended at once, end with the next sweep", async () => {
  const folder = folderForTest("tollgate-stores-");
  const config = readConfig({ DATA_DIR: folder, WORKERS: "2" });
  const broke = Promise.withResolvers<unknown>();
  const onFatal = broke.reject;
  const parent = await openStores(config, { part: "parent", onFatal, onBroken: broke.resolve });
  onTestFinished(() => parent.close());
  const child = await openStores(config, { part: "child", onFatal });
  await parent.ledger.openAccount(newAccount("acct", 10));
  const idempotency = { key: "once", fingerprint: "f", keepMs: 60_000 };
  const hold = { accountId: "acct", holdId: "1", cents: 4, nowMs: machineClock.epochMs() };
  expect(await child.ledger.reserve(holdRequest(hold, { owner: child.owner, idempotency }))).toEqual({
    outcome: "held",
  });
  const database = new DatabaseSync(join(folder, "tollgate.db"), { timeout: 60_000 });
  onTestFinished(() => database.close());
  database.exec("CREATE TRIGGER stuck BEFORE DELETE ON hold BEGIN SELECT RAISE(ABORT, 'no room'); END");
  await child.close();
  expect(await broke.promise).toMatchObject({ code: "ledger_unavailable" });
  expect(await parent.ledger.totals()).toMatchObject({ holdsOpen: 1 });
  database.exec("DROP TRIGGER stuck");
  await parent.ledger.sweep(100);
  expect(await parent.ledger.totals()).toMatchObject({ holdsOpen: 0 });
});
