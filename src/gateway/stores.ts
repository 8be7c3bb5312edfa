// Opens what is kept, where the settings say: a file of this machine for its processes, Redis for those of many.
import { systemClock } from "../core/clock.ts";
import type { Ledger } from "../money/ledger/model/ledger.ts";
import type { SpoolState } from "../money/ledger/spool/file.ts";
import type { Config } from "../platform/config.ts";
import type { CallRates } from "../platform/limits/call-rates.ts";
import type { Records } from "../platform/records/records.ts";
import { inDataDir } from "../platform/storage/in-data-dir.ts";
import { makeFolder } from "../platform/storage/make-folder.ts";
import { openFile, openJoined, openServed } from "./file-stores.ts";

/** A hold whose process has gone ends this long after it was last renewed. */
export const LEASE_MS = 60_000;

export interface Stores {
  /** This process, as the owner of its holds. */
  readonly owner: string;
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
  /** Which of the processes of a gateway this is; left out: it is all there is, or a tool. */
  readonly part?: "parent" | "child";
}

const OPEN_FILE = { alone: openFile, parent: openServed, child: openJoined };

/** Opens the stores of a configuration. Rejects with a sentence for the operator. */
export function openStores(config: Config, events: StoreEvents): Promise<Stores> {
  return inDataDir(config.dataDir, async () => {
    makeFolder(config.dataDir);
    const owner = `gateway-${process.pid}-${Math.floor(systemClock.epochMs())}`;
    if (config.redisUrl === null) return OPEN_FILE[events.part ?? "alone"](config, owner, events);
    // Read where it is needed: a gateway of one process starts without these forty files and the clients of Redis and PostgreSQL.
    const { openServer } = await import("./redis-stores.ts");
    return openServer(config.redisUrl, config, { owner, leaseMs: LEASE_MS, events });
  });
}
