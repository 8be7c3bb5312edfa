// What is seen of requests, and the gauges that are read when somebody looks.
import { systemClock } from "../clock.ts";
import type { FailedCallFile } from "../observe/failed-calls.ts";
import type { Log } from "../observe/log.ts";
import { createObserver, type Observer } from "../observe/observer.ts";
import type { Stores } from "../stores.ts";
import type { Upstream } from "../upstream/upstream.ts";

export interface OpenObserverParts {
  readonly log: Log;
  /** Tells names that we have given from those that callers make up. */
  readonly isKnown: (name: string) => boolean;
  readonly stores: Stores;
  readonly upstream: Upstream;
  /** The books are common to all processes: one of them looks. */
  readonly looksAtBooks: boolean;
  readonly failedCalls: Pick<FailedCallFile, "note">;
}

export function openObserver({
  log,
  isKnown,
  stores,
  upstream,
  looksAtBooks,
  failedCalls,
}: OpenObserverParts): Observer {
  const { ledger, spool, archiveBehindMs } = stores;
  const observer = createObserver({ clock: systemClock, log, isKnown, onEnd: (record) => failedCalls.note(record) });
  observer.onScrape({
    ...(looksAtBooks ? { totals: () => ledger.totals() } : {}),
    restingRoutes: () => upstream.health.resting(),
    ...(spool === null ? {} : { spool }),
    ...(archiveBehindMs === null ? {} : { archiveBehindMs }),
  });
  return observer;
}
