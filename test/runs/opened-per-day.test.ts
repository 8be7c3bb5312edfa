// How many runs an account may open, on a real store.
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { nano } from "../../src/core/money.ts";
import { Runs } from "../../src/money/runs/runs.ts";
import { RECORDS_UNIT, sqliteRecords } from "../../src/platform/records/sqlite-records.ts";
import { openSqliteThread } from "../../src/platform/storage/sqlite-thread.ts";
import { NO_BOUNDS } from "../money/ledger/store.ts";
import { callerOf } from "../simulation/process.ts";
import { folderForFile } from "../support/for-file.ts";
import { manualClock } from "../support/manual-clock.ts";

const DAY_MS = 86_400_000;
const onBroken = (error: unknown) => console.error("the runs broke:", error);
const opener = (account: number) => callerOf(account, { creditNano: 1, ceilingNano: null, inFlightMax: 1 });

const folder = folderForFile("tollgate-runs-opened-");

test("an account opens so many runs a day, and no more", async () => {
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const units = { records: RECORDS_UNIT };
  const thread = await openSqliteThread({
    file: join(folder, "tollgate.db"),
    units,
    clock,
    disk: NO_BOUNDS,
    onFatal: onBroken,
  });
  onTestFinished(() => thread.close());
  const runs = new Runs({
    records: sqliteRecords(thread),
    books: { periodSums: async () => [] },
    ...{ clock, hears: () => true, onBroken, forget() {}, openedPerDayMax: 2 },
  });
  const open = (id: string, account = 0) => runs.open(opener(account), { id, budgetNano: nano(1) });
  await open("first");
  await open("second");
  await expect(open("third")).rejects.toMatchObject({ code: "too_many_runs" });
  expect((await open("first")).isNew).toBe(false);
  expect((await open("third", 1)).isNew).toBe(true);
  clock.advance(DAY_MS);
  expect((await open("third")).isNew).toBe(true);
});
