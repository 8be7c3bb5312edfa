// Opens the stores where the settings say: a file for the processes of this machine, Redis for those of many.
import { systemClock } from "../core/clock.ts";
import type { Ledger } from "../money/ledger/model/ledger.ts";
import type { SpoolState } from "../money/ledger/spool/file.ts";
import type { Config } from "../platform/config.ts";
import type { CallRates } from "../platform/limits/call-rates.ts";
import type { Records } from "../platform/records/records.ts";
import { inDataDir } from "../platform/storage/in-data-dir.ts";
import { makeFolder } from "../platform/storage/make-folder.ts";
import { openFile, openJoined, openServed } from "./file-stores.ts";

/** A hold whose process has died ends this long after its last renewal. */
export const LEASE_MS = 60_000;

export interface Stores {
  readonly owner: string;
  readonly ledger: Ledger;
  readonly records: Records;
  /** Per-minute rate limits of calls, across all processes. */
  readonly rates: CallRates;
  /** Several processes share the stores: the ledger counts paid calls, and changes to keys reach the other processes. */
  readonly shared: boolean;
  /** Whether the shared store answers; null: a file on this machine. */
  readonly answers: (() => Promise<boolean>) | null;
  /** What waits in this process's spool; null where there is none. */
  readonly spool: (() => SpoolState) | null;
  /** How late postings reach the archive; null where there is none; returns null where another process moves them. */
  readonly archiveBehindMs: (() => number | null) | null;
  /** `forget` receives the account that changed, or whose keys did; null: any account may have. */
  onKeysChanged(forget: (accountId: string | null) => void): Promise<void>;
  /** Whether this process currently receives other processes' changes. */
  hearsChanges(): boolean;
  /** Sends the other processes optional information; null where this is the only process. */
  readonly others: Others | null;
  close(): Promise<void>;
}

export interface Others {
  /** Rejects where the message could not be sent. */
  tell(text: string): Promise<void>;
  /** Receives all messages, including its own. `onGap`: some may have been missed. */
  hear(onText: (text: string) => void, onGap: () => void): Promise<void>;
}

export interface StoreEvents {
  readonly onFatal: (error: Error) => void;
  /** The store is down for now; for the log. */
  readonly onBroken?: (error: unknown) => void;
  /** The folder of the shared archive, unless it is this process's own. */
  readonly archiveDir?: string;
  /** Which process of a gateway this is; absent: the only one, or a tool. */
  readonly part?: "parent" | "child";
}

const OPEN_FILE = { alone: openFile, parent: openServed, child: openJoined };

/** Opens the configured stores. Rejects with a sentence for the operator. */
export function openStores(config: Config, events: StoreEvents): Promise<Stores> {
  return inDataDir(config.dataDir, async () => {
    makeFolder(config.dataDir);
    const owner = `gateway-${process.pid}-${Math.floor(systemClock.epochMs())}`;
    if (config.redisUrl === null) return OPEN_FILE[events.part ?? "alone"](config, owner, events);
    // Imported lazily: a single-process gateway starts without these forty files and the Redis and PostgreSQL clients.
    const { openServer } = await import("./redis-stores.ts");
    return openServer(config.redisUrl, config, { owner, leaseMs: LEASE_MS, events });
  });
}
