// Opens ledgers and records for tests: real files in temporary folders, a clock that the test moves.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, type ManualClock, manualClock } from "../../src/clock.ts";
import type { Ledger, SharedLedger } from "../../src/ledger/model/ledger.ts";
import { LEDGER_UNIT, sqliteLedger } from "../../src/ledger/sqlite/ledger.ts";
import type { DiskBounds } from "../../src/storage/disk-guard.ts";
import { openSqliteThread, type SqliteThread } from "../../src/storage/sqlite-thread.ts";

/** What every implementation of the ledger gives its tests. */
export interface TestStore {
  readonly ledger: Ledger;
  readonly clock: ManualClock;
  /** Several processes can have it open: it goes on while one of them is away, and nobody knows who is dead. */
  readonly shared: boolean;
  /** Its postings are where reports are made of them before an operation is answered; a Redis without an archive makes none. */
  readonly tellsUsage: boolean;
  /** The same ledger where it is shared. */
  readonly sharedLedger: SharedLedger | null;
  /** Closes the store and opens it again on what it has kept. */
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

export async function sqliteStore(): Promise<TestStore> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-ledger-"));
  const file = join(folder, "tollgate.db");
  const clock = manualClock(START_MS);
  let ledger = sqliteLedger(await openLedgerThread(file, clock));
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
      ledger = sqliteLedger(await openLedgerThread(file, clock));
      return ledger;
    },
    async dispose() {
      await ledger.close();
      rmSync(folder, { recursive: true });
    },
  };
}
