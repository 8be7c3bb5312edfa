// The stores of many processes: Redis, the archive behind it, and this process's spool of writes that Redis does not have yet.
import { join } from "node:path";
import { systemClock } from "../core/clock.ts";
import { claimArchive, PostingExport } from "../money/ledger/archive/export.ts";
import { openArchive } from "../money/ledger/archive/open-archive.ts";
import { redisLedger } from "../money/ledger/redis/ledger.ts";
import { CHANGED_CHANNEL } from "../money/ledger/redis/rows.ts";
import { keptUntilCopied } from "../money/ledger/spool/copies.ts";
import { openSpool } from "../money/ledger/spool/file.ts";
import { spooledLedger } from "../money/ledger/spool/ledger.ts";
import { type Config, doesWork } from "../platform/config.ts";
import { redisRates } from "../platform/limits/redis-rates.ts";
import { redisRecords } from "../platform/records/redis-records.ts";
import { diskBounds } from "../platform/storage/disk-guard.ts";
import type { Subscription } from "../platform/storage/redis-channel.ts";
import { openRedis, type RedisLink } from "../platform/storage/redis-link.ts";
import type { Others, StoreEvents, Stores } from "./stores.ts";

/** The channel on which processes share the state of routes. */
const NEWS_CHANNEL = "tollgate:news";

/** Rejects where the server's settings could lose money, and says what is wrong and how to accept it. */
async function requireSafe(link: RedisLink, config: Config): Promise<void> {
  const problems = await link.problems();
  if (problems.length === 0 || config.redisUnsafe) return;
  throw new Error(`REDIS_URL: this server would lose money. ${problems.join(" ")} REDIS_UNSAFE=1 starts all the same.`);
}

function newsOf(link: Pick<RedisLink, "subscribe">): Others["hear"] {
  const listeners: { readonly onText: (text: string) => void; readonly onGap: () => void }[] = [];
  let listening: Promise<Subscription> | null = null;
  return async (onText, onGap) => {
    listeners.push({ onText, onGap });
    listening ??= link.subscribe(
      NEWS_CHANNEL,
      (text) => {
        for (const listener of listeners) listener.onText(text);
      },
      () => {
        for (const listener of listeners) listener.onGap();
      },
    );
    await listening;
  };
}

export interface ServerOptions {
  readonly owner: string;
  readonly events: StoreEvents;
  readonly leaseMs: number;
}

/** The ledger in Redis with its archive behind it and this process's spool before it. Rejects with a sentence for the operator. */
export async function openServer(url: string, config: Config, options: ServerOptions): Promise<Stores> {
  const { owner, events, leaseMs } = options;
  const { onFatal, onBroken = () => {}, archiveDir = config.dataDir } = events;
  const clock = systemClock;
  const link = await openRedis(url, { onBroken, commandMsMax: config.redisCommandMs });
  const opened: (() => Promise<unknown>)[] = [() => link.close()];
  try {
    await requireSafe(link, config);
    const { archive } = await openArchive(config.archiveUrl, { file: join(archiveDir, "archive.db"), clock, onFatal });
    opened.push(() => archive.close());
    await claimArchive(link, archive);
    const moving = doesWork(config) ? new PostingExport({ link, archive, clock, onBroken }) : null;
    if (moving !== null) opened.push(() => moving.stop());
    const disk = diskBounds(config.diskFreeMibMin);
    const ownFile = await openSpool({ file: join(config.dataDir, "spool.db"), clock, disk, onFatal });
    const spool = keptUntilCopied(ownFile, link);
    const books = redisLedger({ link, clock, leaseMs, archive, hear: link.subscribe });
    const onForfeit = (lost: object) =>
      onBroken(new Error(`a charge came too late to be made: ${JSON.stringify(lost)}`));
    const ledger = spooledLedger(books, spool, { clock, leaseMs, onBroken, onForfeit });
    link.onServerChange(() => ledger.repeat());
    await ledger.recover();
    let changes: Subscription | null = null;
    return {
      owner,
      ledger,
      records: redisRecords(link),
      rates: redisRates(link),
      shared: true,
      answers: () =>
        link.serverEpochMs().then(
          () => true,
          () => false,
        ),
      spool: () => ledger.spoolState(),
      archiveBehindMs: () => moving?.behindMs() ?? null,
      async onKeysChanged(forget) {
        changes = await link.subscribe(CHANGED_CHANNEL, forget, () => forget(null));
      },
      hearsChanges: () => changes?.isListening() ?? false,
      others: { tell: (text) => link.publish(NEWS_CHANNEL, text), hear: newsOf(link) },
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
