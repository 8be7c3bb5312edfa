import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "../../../src/core/clock.ts";
import { RECORDS_UNIT, sqliteRecords } from "../../../src/platform/records/sqlite-records.ts";
import { openRemoteThread } from "../../../src/platform/storage/remote-thread.ts";
import { openSqliteThread } from "../../../src/platform/storage/sqlite-thread.ts";
import type { SqliteThread } from "../../../src/platform/storage/thread-client.ts";
import { NO_BOUNDS } from "../../money/ledger/store.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { removeFolder } from "../../support/remove-folder.ts";
import { recordsContract } from "./contract.ts";

const onFatal = (error: Error) => console.error("the store broke:", error);
const units = { records: RECORDS_UNIT };

/** The thread, followed by what to close after it. */
type Open = (folder: string, clock: Clock) => Promise<readonly [SqliteThread, ...SqliteThread[]]>;

const own: Open = async (folder, clock) => [
  await openSqliteThread({ file: join(folder, "tollgate.db"), units, clock, disk: NO_BOUNDS, onFatal }),
];

const ofAnother: Open = async (folder, clock) => {
  const [file, socket] = [join(folder, "tollgate.db"), join(folder, "store/socket")];
  const options = { file, units, clock, disk: NO_BOUNDS, sharing: "readers", serve: socket, onFatal } as const;
  const kept = await openSqliteThread(options);
  return [await openRemoteThread({ socket, file, owner: "child", clock, onNews() {}, onFatal }), kept];
};

function suite(name: string, open: Open): void {
  recordsContract(name, async () => {
    const folder = mkdtempSync(join(tmpdir(), "tollgate-records-"));
    const clock = manualClock(Date.UTC(2026, 0, 1));
    let threads = await open(folder, clock);
    let records = sqliteRecords(threads[0]);
    const close = async () => {
      for (const thread of threads) await thread.close();
    };
    return {
      clock,
      get records() {
        return records;
      },
      async reopen() {
        await close();
        threads = await open(folder, clock);
        records = sqliteRecords(threads[0]);
        return records;
      },
      async dispose() {
        await close();
        removeFolder(folder);
      },
    };
  });
}

suite("sqlite", own);
suite("sqlite of another process", ofAnother);
