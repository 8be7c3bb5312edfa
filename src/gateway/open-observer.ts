// What is seen of requests, and the gauges that are read when they are scraped.
import { systemClock } from "../core/clock.ts";
import type { Config } from "../platform/config.ts";
import type { FailedCallFile } from "../platform/observe/failed-calls.ts";
import type { Log } from "../platform/observe/log.ts";
import { createObserver, type Observer } from "../platform/observe/observer.ts";
import type { RequestRecord } from "../platform/observe/record.ts";
import type { Traces } from "../platform/observe/traces.ts";
import type { DiskRoom } from "../platform/storage/disk-guard.ts";
import type { TellBroken } from "./store-outage.ts";
import type { Stores } from "./stores.ts";

export interface OpenObserverParts {
  readonly config: Pick<Config, "role">;
  readonly log: Log;
  /** Tells names that we have given from those that callers make up. */
  readonly isKnown: (name: string) => boolean;
  readonly otelName: (provider: string) => string;
  readonly stores: Stores;
  /** The books are common to all processes: one of them looks. */
  readonly looksAtBooks: boolean;
  readonly disk: () => Promise<DiskRoom>;
  readonly failedCalls: Pick<FailedCallFile, "note">;
  /** Null: no collector takes traces. */
  readonly traces: Traces | null;
  /** Hears of each request that has ended, with what it cost us. */
  readonly onEnd: (record: RequestRecord) => void;
  readonly broken: TellBroken;
}

export function openObserver(parts: OpenObserverParts): Observer {
  const { config, log, isKnown, otelName, stores, looksAtBooks, disk, failedCalls, traces, onEnd, broken } = parts;
  const { ledger, spool, archiveBehindMs } = stores;
  const observer = createObserver({
    clock: systemClock,
    log,
    isKnown,
    otelName,
    role: config.role,
    onUnread: (error) => broken(error, "gauges not read"),
    onEnd(record) {
      failedCalls.note(record);
      onEnd(record);
      traces?.request(record);
    },
    ...(traces === null ? {} : { onJobEnd: traces.job }),
  });
  observer.onScrape({
    ...(looksAtBooks ? { totals: () => ledger.totals() } : {}),
    disk,
    ...(spool === null ? {} : { spool }),
    ...(archiveBehindMs === null ? {} : { archiveBehindMs }),
  });
  return observer;
}
