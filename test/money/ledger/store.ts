// Opens ledgers and records for tests: real files in temporary folders, with a manual clock.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "../../../src/core/clock.ts";
import type { Ledger, SharedLedger } from "../../../src/money/ledger/model/ledger.ts";
import { LEDGER_UNIT, sqliteLedger } from "../../../src/money/ledger/sqlite/ledger.ts";
import type { DiskBounds } from "../../../src/platform/storage/disk-guard.ts";
import { openRemoteThread } from "../../../src/platform/storage/remote-thread.ts";
import { openSqliteThread } from "../../../src/platform/storage/sqlite-thread.ts";
import type { SqliteThread } from "../../../src/platform/storage/thread-client.ts";
import { type ManualClock, manualClock } from "../../support/manual-clock.ts";
import { removeFolder } from "../../support/remove-folder.ts";

/** What every ledger implementation provides for its tests. */
export interface TestStore {
  readonly ledger: Ledger;
  readonly clock: ManualClock;
  /** Several processes can open it: it survives one of them, and a dead process is not recognised as such. */
  readonly shared: boolean;
  /** An operation is answered only once its postings are in the reports' source; a Redis without an archive has no reports. */
  readonly tellsUsage: boolean;
  /** The same ledger, where it is shared. */
  readonly sharedLedger: SharedLedger | null;
  /** Closes the store and opens it again on its data. */
  reopen(): Promise<Ledger>;
  dispose(): Promise<void>;
}

export const NO_BOUNDS: DiskBounds = { freeBytesMin: 0, ballastBytes: 0 };

/** 2026-03-12 10:00 UTC, a Thursday. */
export const START_MS = Date.UTC(2026, 2, 12, 10);

export function openLedgerThread(file: string, clock: Clock, disk: DiskBounds = NO_BOUNDS): Promise<SqliteThread> {
  const onFatal = (error: Error) => console.error("the store broke:", error);
  return openSqliteThread({ file, units: { ledger: LEDGER_UNIT }, clock, disk, sharing: "readers", onFatal });
}

/** As in a child: the thread belongs to another process, behind a socket. */
export async function openRemoteLedger(file: string, clock: Clock): Promise<SqliteThread> {
  const onFatal = (error: Error) => console.error("the store broke:", error);
  const socket = `${file}-socket/s`;
  const units = { ledger: LEDGER_UNIT };
  const options = { file, units, clock, disk: NO_BOUNDS, sharing: "readers", onFatal } as const;
  const kept = await openSqliteThread({ ...options, serve: socket });
  const remote = await openRemoteThread({ socket, file, owner: "child", clock, onNews() {}, onFatal });
  return {
    clock,
    admits: () => remote.admits(),
    unit: (name) => remote.unit(name),
    ask: (text, values) => remote.ask(text, values),
    inquire: (inquiry, argument) => remote.inquire(inquiry, argument),
    backup: (path) => remote.backup(path),
    tell: (text) => remote.tell(text),
    async close() {
      await remote.close();
      await kept.close();
    },
  };
}

export const sqliteStore = () => storeOn(openLedgerThread);
export const remoteStore = () => storeOn(openRemoteLedger);

async function storeOn(open: (file: string, clock: Clock) => Promise<SqliteThread>): Promise<TestStore> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-ledger-"));
  const file = join(folder, "tollgate.db");
  const clock = manualClock(START_MS);
  let ledger = sqliteLedger(await open(file, clock));
  return {
    clock,
    shared: false,
    tellsUsage: true,
    sharedLedger: null,
    get ledger() {
      return ledger;
    },
    async reopen() {
      await ledger.close();
      ledger = sqliteLedger(await open(file, clock));
      return ledger;
    },
    async dispose() {
      await ledger.close();
      removeFolder(folder);
    },
  };
}
