// Where requests become visible: begins and ends their records, and keeps the gauges that are read at a scrape.
import type { RecordStart, RequestRecord } from "./record.ts";

/** What the ledger holds now, for the gauges. */
export interface MoneyTotals {
  readonly accounts: number;
  readonly holdsOpen: number;
  readonly heldNano: number;
  readonly spentNano: number;
}

/** A route that rests after failures, and may be asked again later. */
export interface RestingRoute {
  readonly provider: string;
  readonly model: string;
}

export interface Observer {
  /** A request has come: it is in flight until `end`. */
  begin(start: RecordStart): RequestRecord;
  /** The request is over: measures its duration, writes its log line and counts it. Once per record. */
  end(record: RequestRecord): void;
  /** How long an operation of the ledger took, such as `reserve` or `post`, seen from the event loop. */
  ledgerTook(operation: string, ms: number): void;
  /** Asked at each scrape; what it rejects with is logged and the gauges keep their last values. */
  onScrape(source: ScrapeSource): void;
  /** Requests begun and not ended. */
  inFlight(): number;
  /** Everything in Prometheus' text format. */
  metricsText(): Promise<string>;
  /** Writes what is buffered and stops the timers. */
  close(): void;
}

export interface ScrapeSource {
  totals?(): Promise<MoneyTotals>;
  restingRoutes?(): readonly RestingRoute[];
}
