// Opens what is kept, where the settings say: files of this machine for one process, Redis for many.
import { join } from "node:path";
import { systemClock } from "./clock.ts";
import type { Config } from "./config.ts";
import type { Ledger } from "./ledger/model/ledger.ts";
import type { SpoolState } from "./ledger/spool/file.ts";
import { LEDGER_UNIT, sqliteLedger } from "./ledger/sqlite/ledger.ts";
import { type CallRates, memoryRates } from "./limits/call-rates.ts";
import type { Records } from "./records/records.ts";
import { RECORDS_UNIT, sqliteRecords } from "./records/sqlite-records.ts";
import { diskBounds } from "./storage/disk-guard.ts";
import { inDataDir } from "./storage/in-data-dir.ts";
import { makeFolder } from "./storage/make-folder.ts";
import { openSqliteThread } from "./storage/sqlite-thread.ts";

/** A hold whose process has gone ends this long after it was last renewed. */
export const LEASE_MS = 60_000;

export interface Stores {
  readonly ledger: Ledger;
  readonly records: Records;
  /** What calls take of a minute, for all processes together. */
  readonly rates: CallRates;
  /** Several processes share them: paid calls are counted in the ledger, and changes of keys are told to the others. */
  readonly shared: boolean;
  /** Whether the shared store answers; null: it is a file of this machine. */
  readonly answers: (() => Promise<boolean>) | null;
  /** What waits in this process's spool; null where there is none. */
  readonly spool: (() => SpoolState) | null;
  /** How late postings are on their way to the archive; null where there is none, answers null where another process moves them. */
  readonly archiveBehindMs: (() => number | null) | null;
  /** `forget` hears which account has changed, or whose keys have; null: any may have. */
  onKeysChanged(forget: (accountId: string | null) => void): Promise<void>;
  /** Whether changes that other processes make are heard of at this moment. */
  hearsChanges(): boolean;
  /** Tells the other processes something that is good to know and no more; null where this one is all there is. */
  readonly others: Others | null;
  close(): Promise<void>;
}

export interface Others {
  /** Rejects where it could not be told. */
  tell(text: string): Promise<void>;
  /** Hears what is told, its own words too. `onGap`: something may have been missed. */
  hear(onText: (text: string) => void, onGap: () => void): Promise<void>;
}

export interface StoreEvents {
  /** The store has broken for good: the process should end. */
  readonly onFatal: (error: Error) => void;
  /** The store is away for now; for the log. */
  readonly onBroken?: (error: unknown) => void;
  /** Where the archive of all processes lies, if not in this process's own folder. */
  readonly archiveDir?: string;
}

/** The one file of a data folder that holds all that is kept. */
export function storeFile(config: Config): string {
  return join(config.dataDir, "tollgate.db");
}

/** A file has one process: a second one is refused with a sentence for the operator. */
async function openFile(config: Config, { onFatal }: StoreEvents): Promise<Stores> {
  const thread = await openSqliteThread({
    file: storeFile(config),
    units: { ledger: LEDGER_UNIT, records: RECORDS_UNIT },
    clock: systemClock,
    disk: diskBounds(config.diskFreeMibMin),
    sharing: "readers",
    onFatal,
  });
  return {
    ledger: sqliteLedger(thread),
    records: sqliteRecords(thread),
    rates: memoryRates(systemClock),
    shared: false,
    answers: null,
    spool: null,
    archiveBehindMs: null,
    onKeysChanged: () => Promise.resolve(),
    hearsChanges: () => true,
    others: null,
    close: () => thread.close(),
  };
}

/** Opens the stores of a configuration. Rejects with a sentence for the operator. */
export function openStores(config: Config, events: StoreEvents): Promise<Stores> {
  return inDataDir(config.dataDir, async () => {
    makeFolder(config.dataDir);
    if (config.redisUrl === null) return openFile(config, events);
    // Read where it is needed: a gateway of one process starts without these forty files and the clients of Redis and PostgreSQL.
    const { openServer } = await import("./redis-stores.ts");
    return openServer(config.redisUrl, config, { leaseMs: LEASE_MS, events });
  });
}
