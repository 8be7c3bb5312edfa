// Opens what is kept, where the settings say: files of this machine for one process, Redis for many.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "./clock.ts";
import type { Config } from "./config.ts";
import { claimArchive, exportPostings } from "./ledger/archive/export.ts";
import { openArchive } from "./ledger/archive/open-archive.ts";
import type { Ledger } from "./ledger/model/ledger.ts";
import { redisLedger } from "./ledger/redis/ledger.ts";
import { CHANGED_CHANNEL } from "./ledger/redis/rows.ts";
import { keptUntilCopied } from "./ledger/spool/copies.ts";
import { openSpool, type SpoolState } from "./ledger/spool/file.ts";
import { spooledLedger } from "./ledger/spool/ledger.ts";
import { LEDGER_UNIT, sqliteLedger } from "./ledger/sqlite/ledger.ts";
import type { Records } from "./records/records.ts";
import { redisRecords } from "./records/redis-records.ts";
import { RECORDS_UNIT, sqliteRecords } from "./records/sqlite-records.ts";
import { diskBounds } from "./storage/disk-guard.ts";
import { inDataDir } from "./storage/in-data-dir.ts";
import type { Subscription } from "./storage/redis-channel.ts";
import { openRedis, type RedisLink } from "./storage/redis-link.ts";
import { openSqliteThread } from "./storage/sqlite-thread.ts";

/** Where processes tell each other how routes are. */
const NEWS_CHANNEL = "tollgate:news";
/** A hold whose process has gone ends this long after it was last renewed. */
export const LEASE_MS = 60_000;

export interface Stores {
  readonly ledger: Ledger;
  readonly records: Records;
  /** Several processes share them: paid calls are counted in the ledger, and changes of keys are told to the others. */
  readonly shared: boolean;
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
    shared: false,
    spool: null,
    archiveBehindMs: null,
    onKeysChanged: () => Promise.resolve(),
    hearsChanges: () => true,
    others: null,
    close: () => thread.close(),
  };
}

/** Rejects where the server would lose money, with what is wrong and how to say that it may. */
async function requireSafe(link: RedisLink, config: Config): Promise<void> {
  const problems = await link.problems();
  if (problems.length === 0 || config.redisUnsafe) return;
  throw new Error(`REDIS_URL: this server would lose money. ${problems.join(" ")} REDIS_UNSAFE=1 starts all the same.`);
}

/** The ledger in Redis with its archive behind it and this process's own spool before it. */
async function openServer(url: string, config: Config, events: StoreEvents): Promise<Stores> {
  const { onFatal, onBroken = () => {}, archiveDir = config.dataDir } = events;
  const clock = systemClock;
  const link = await openRedis(url, { onBroken, commandMsMax: config.redisCommandMs });
  const opened: (() => Promise<unknown>)[] = [() => link.close()];
  try {
    await requireSafe(link, config);
    const { archive } = await openArchive(config.archiveUrl, { file: join(archiveDir, "archive.db"), clock, onFatal });
    opened.push(() => archive.close());
    await claimArchive(link, archive);
    const moving = exportPostings({ link, archive, clock, onBroken });
    opened.push(() => moving.stop());
    const disk = diskBounds(config.diskFreeMibMin);
    const ownFile = await openSpool({ file: join(config.dataDir, "spool.db"), clock, disk, onFatal });
    const spool = keptUntilCopied(ownFile, link);
    const books = redisLedger({ link, clock, leaseMs: LEASE_MS, archive });
    const onForfeit = (lost: object) =>
      onBroken(new Error(`a charge came too late to be made: ${JSON.stringify(lost)}`));
    const ledger = spooledLedger(books, spool, { clock, leaseMs: LEASE_MS, onBroken, onForfeit });
    link.onServerChange(() => ledger.repeat());
    await ledger.recover();
    let changes: Subscription | null = null;
    return {
      ledger,
      records: redisRecords(link),
      shared: true,
      spool: () => ledger.spoolState(),
      archiveBehindMs: () => moving.behindMs(),
      async onKeysChanged(forget) {
        changes = await link.subscribe(CHANGED_CHANNEL, forget, () => forget(null));
      },
      hearsChanges: () => changes?.isListening() ?? false,
      others: {
        tell: (text) => link.publish(NEWS_CHANNEL, text),
        async hear(onText, onGap) {
          await link.subscribe(NEWS_CHANNEL, onText, onGap);
        },
      },
      async close() {
        await ledger.close();
        for (const close of opened.reverse()) await close();
      },
    };
  } catch (error) {
    for (const close of opened.reverse()) await close().catch(onBroken);
    throw error;
  }
}

/** Opens the stores of a configuration. Rejects with a sentence for the operator. */
export function openStores(config: Config, events: StoreEvents): Promise<Stores> {
  return inDataDir(config.dataDir, async () => {
    mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
    return config.redisUrl === null ? openFile(config, events) : openServer(config.redisUrl, config, events);
  });
}
