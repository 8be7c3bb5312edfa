import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { manualClock } from "../../src/clock.ts";
import { RECORDS_UNIT, sqliteRecords } from "../../src/records/sqlite-records.ts";
import { openSqliteThread } from "../../src/storage/sqlite-thread.ts";
import { recordsContract } from "./contract.ts";

recordsContract("sqlite", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-records-"));
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const open = () =>
    openSqliteThread({
      file: join(folder, "tollgate.db"),
      units: { records: RECORDS_UNIT },
      clock,
      disk: { freeBytesMin: 0, ballastBytes: 0 },
      onFatal: (error) => console.error("the store broke:", error),
    });
  let thread = await open();
  let records = sqliteRecords(thread);
  return {
    clock,
    get records() {
      return records;
    },
    async reopen() {
      await thread.close();
      thread = await open();
      records = sqliteRecords(thread);
      return records;
    },
    async dispose() {
      await thread.close();
      rmSync(folder, { recursive: true });
    },
  };
});
