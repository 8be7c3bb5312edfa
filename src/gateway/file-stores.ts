// The stores in a file on this machine: of a single process, or of a parent that serves them to its children over a socket.
import { join } from "node:path";
import { machineClock, systemClock } from "../core/clock.ts";
import { endHoldsOf, LEDGER_UNIT, sqliteLedger } from "../money/ledger/sqlite/ledger.ts";
import type { Config } from "../platform/config.ts";
import { memoryRates } from "../platform/limits/call-rates.ts";
import { RATES_UNIT, threadRates } from "../platform/limits/thread-rates.ts";
import { RECORDS_UNIT, sqliteRecords } from "../platform/records/sqlite-records.ts";
import { diskBounds } from "../platform/storage/disk-guard.ts";
import { openRemoteThread } from "../platform/storage/remote-thread.ts";
import { openSqliteThread, type SqliteThreadOptions } from "../platform/storage/sqlite-thread.ts";
import type { SqliteThread } from "../platform/storage/thread-client.ts";
import type { StoreNews } from "../platform/storage/wire.ts";
import type { StoreEvents, Stores } from "./stores.ts";

export function storeFile({ dataDir }: Pick<Config, "dataDir">): string {
  return join(dataDir, "tollgate.db");
}

const UNITS = { ledger: LEDGER_UNIT, records: RECORDS_UNIT };

function openingOf(config: Config): Omit<SqliteThreadOptions, "clock" | "onFatal"> {
  return { file: storeFile(config), units: UNITS, disk: diskBounds(config.diskFreeMibMin), sharing: "readers" };
}

/** For one process: a second one gets an error sentence for the operator. */
export async function openFile(config: Config, owner: string, { onFatal }: StoreEvents): Promise<Stores> {
  const thread = await openSqliteThread({ ...openingOf(config), clock: systemClock, onFatal });
  const stores = storesOf(thread, new News(), owner);
  return { ...stores, rates: memoryRates(systemClock), shared: false, others: null };
}

/** In a private folder: a process that can connect can spend. */
const socketOf = ({ dataDir }: Config): string => join(dataDir, "store", "socket");

/** The same file, shared by this process's children. */
export async function openServed(config: Config, owner: string, events: StoreEvents): Promise<Stores> {
  const { onFatal, onBroken = () => {} } = events;
  const news = new News();
  /** Processes that have exited and may still have open holds. */
  const left = new Set<string>();
  let closing = false;
  async function endLeft(): Promise<void> {
    for (const gone of left) {
      await endHoldsOf(thread, gone);
      left.delete(gone);
    }
  }
  const thread: SqliteThread = await openSqliteThread({
    ...openingOf(config),
    units: { ...UNITS, rates: RATES_UNIT },
    clock: machineClock,
    serve: socketOf(config),
    onFatal,
    onNews(heard) {
      if (heard.kind !== "left") return news.hear(heard);
      // A closed store has no holds of exited children: they exited first.
      if (closing) return;
      left.add(heard.owner);
      endLeft().catch(onBroken);
    },
  });
  const stores = storesOf(thread, news, owner, () => {
    closing = true;
  });
  const sweep: Stores["ledger"]["sweep"] = async (...asked) => {
    const ended = await stores.ledger.sweep(...asked);
    // Retry those that failed, such as on a full disk, rather than wait for their leases to expire.
    await endLeft();
    return ended;
  };
  return { ...stores, ledger: { ...stores.ledger, sweep } };
}

/** The parent's stores as a child sees them. This process exits when the parent does. */
export async function openJoined(config: Config, owner: string, { onFatal }: StoreEvents): Promise<Stores> {
  const news = new News();
  const thread = await openRemoteThread({
    socket: socketOf(config),
    file: storeFile(config),
    owner,
    clock: machineClock,
    onNews: (heard) => news.hear(heard),
    onFatal,
  });
  const stores = storesOf(thread, news, owner);
  // Only the parent knows which processes are dead: other children may be starting or serving.
  return { ...stores, ledger: { ...stores.ledger, sweep: (countMax) => stores.ledger.sweep(countMax) } };
}

function storesOf(thread: SqliteThread, news: News, owner: string, onClose: () => void = () => {}): Stores {
  return {
    owner,
    ledger: sqliteLedger(thread),
    records: sqliteRecords(thread),
    rates: threadRates(thread),
    shared: true,
    answers: null,
    spool: null,
    archiveBehindMs: null,
    async onKeysChanged(forget) {
      news.forgets.push(forget);
    },
    // Changes arrive over the connection to the store; without it this process exits.
    hearsChanges: () => true,
    others: {
      tell: async (text) => thread.tell(text),
      async hear(onText) {
        news.listeners.push(onText);
      },
    },
    close() {
      onClose();
      return thread.close();
    },
  };
}

/** Handles the parent's broadcasts from the moment it listens. A live connection loses none, so there are no gaps. */
class News {
  readonly forgets: ((accountId: string) => void)[] = [];
  readonly listeners: ((text: string) => void)[] = [];

  hear(news: StoreNews): void {
    if (news.kind === "changed")
      for (const accountId of news.accountIds) for (const forget of this.forgets) forget(accountId);
    else if (news.kind === "told") for (const listen of this.listeners) listen(news.text);
  }
}
