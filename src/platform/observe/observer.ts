// Observes the gateway: request records, event counters, and gauges that are read at a scrape.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { collectDefaultMetrics, Registry } from "prom-client";
import type { Clock } from "../../core/clock.ts";
import type { Nano } from "../../core/money.ts";
import type { Leg } from "../../core/route.ts";
import { VERSION } from "../../core/version.ts";
import { Counting } from "./count.ts";
import type { Log } from "./log.ts";
import { createMetrics, type Metrics, metricsText } from "./metrics.ts";
import { type RecordStart, RequestRecord } from "./record.ts";
import type { CounterCell, HistogramCell } from "./series.ts";

export interface EndedJob {
  readonly id: string;
  /** The request that launched it, and that request's trace; null: the request began its own. */
  readonly launch: { readonly requestId: string; readonly callerTraceId: string | null };
  readonly action: string;
  readonly accountId: string;
  readonly sandbox: boolean;
  readonly succeeded: boolean;
  readonly startedAtMs: number;
  readonly chargedCents: number;
  readonly legs: readonly Leg[];
}

export type ReadGauges = (gauges: Metrics) => void | Promise<void>;

export type Observer = ReturnType<typeof createObserver>;

export interface ObserverOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Separates models, tiers and actions of the catalog from names made up by callers, which never become labels. */
  readonly isKnown: (name: string) => boolean;
  /** An adapter's name in OpenTelemetry's conventions. Default: its id. */
  readonly otelName?: (provider: string) => string;
  /** The part of the work that this process does. Default: both. */
  readonly role?: "both" | "serve" | "work" | "split";
  /** Called when gauges could not be read. Default: logs it. */
  readonly onUnread?: (error: unknown) => void;
  readonly onEnd?: (record: RequestRecord) => void;
  readonly onJobEnd?: (job: EndedJob) => void;
}

/** The interval of event-loop checks: each wakes an idle process. A hold is measured up to this much too short. */
const LOOK_MS = 50;

/** Returns the longest delay of the event loop since the last call. */
function longestHolds(): () => number {
  const delays = monitorEventLoopDelay({ resolution: LOOK_MS });
  delays.enable();
  return () => {
    const longestS = Math.max(0, delays.max / 1e9 - LOOK_MS / 1e3);
    delays.reset();
    return longestS;
  };
}

/** Counts what happens besides requests. */
function counters(metrics: Metrics) {
  const ledgerCells = new Map<string, HistogramCell>();
  const add = (cell: CounterCell, amount = 1): void => {
    cell.total += amount;
  };

  return {
    /** Records the duration of a ledger operation, such as `reserve` or `post`, as the event loop sees it. */
    ledgerTook(operation: string, ms: number) {
      let cell = ledgerCells.get(operation);
      if (cell === undefined) {
        cell = metrics.ledger.cell({ operation });
        ledgerCells.set(operation, cell);
      }
      cell.observe(ms / 1000);
    },
    /** A call or job has ended: counts our cost above its charge. */
    unpaid(chargedNano: Nano, upstreamNano: Nano) {
      if (upstreamNano > chargedNano)
        add(metrics.unpaid.cell({ charged: chargedNano > 0 ? "1" : "0" }), upstreamNano - chargedNano);
    },
    /** A payment on chain was tried. */
    settled: (outcome: "settled" | "refused" | "open") => add(metrics.settlements.cell({ outcome })),
    /** A merchant has asked for a payment. */
    merchantPaid: (rail: "mpp" | "x402" | "none", outcome: "paid" | "refused" | "unanswered" | "unpaid") =>
      add(metrics.merchantPayments.cell({ rail, outcome })),
    /** The operator's guard has decided. */
    guardJudged: (stage: "request" | "answer", outcome: "pass" | "refuse" | "edit" | "away") =>
      add(metrics.guardJudged.cell({ stage, outcome })),
    /** A call was kept in the request log, or left out. */
    callLogged: (outcome: "kept" | "left_out") => add(metrics.callsLogged.cell({ outcome })),
    guardCost: (model: string, upstreamNano: Nano) => add(metrics.guardCost.cell({ model }), upstreamNano),
    /** Lines of a batch have their results. */
    batchLines: (outcome: "completed" | "failed", count: number) => add(metrics.batchLines.cell({ outcome }), count),
    /** An answer reported usage that has no price here. */
    unpriced: (provider: string, counter: string, sandbox: boolean) =>
      add(metrics.unpriced.cell({ provider, counter, sandbox: sandbox ? "1" : "0" })),
    /** An answer cost more than its charge, by its provider. */
    lost: (provider: string, model: string, lostNano: Nano) => add(metrics.lost.cell({ provider, model }), lostNano),
    /** A caller's sealed thought did not open. */
    sealUnopened: () => add(metrics.sealsUnopened.cell({})),
  };
}

export function createObserver(options: ObserverOptions) {
  const { clock, log, isKnown, otelName = (provider) => provider, role = "both", onEnd, onJobEnd } = options;
  const { onUnread = (err: unknown) => log.logger.warn({ err }, "gauges not read") } = options;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOK_MS });
  // Gauges must not be named total; these three are sums of gauges that exist per kind.
  for (const kind of ["resources", "handles", "requests"]) registry.removeSingleMetric(`nodejs_active_${kind}_total`);
  const metrics = createMetrics(registry);
  metrics.build.set({ version: VERSION, node: process.versions.node, role }, 1);
  const counting = new Counting(metrics, isKnown, otelName);
  const longestHold = longestHolds();
  const sources: ReadGauges[] = [];
  let inFlight = 0;

  return {
    contentType: registry.contentType,
    /** A request has arrived: it is in flight until `end`. */
    begin(start: RecordStart): RequestRecord {
      inFlight += 1;
      return new RequestRecord(start);
    },
    /** The request has ended: measures its duration, logs it and counts it. Call once per record. */
    end(record: RequestRecord) {
      inFlight -= 1;
      record.durationMs = clock.elapsedMs() - record.startedMs;
      log.request(record);
      counting.count(record);
      onEnd?.(record);
    },
    ...counters(metrics),
    jobEnded: (job: EndedJob) => onJobEnd?.(job),
    /** Called at each scrape. A failure is logged, and the gauges keep their last values. */
    onScrape: (read: ReadGauges) => void sources.push(read),
    inFlight: () => inFlight,
    async metricsText(): Promise<string> {
      metrics.inFlight.set(inFlight);
      metrics.longestHold.set(longestHold());
      for (const read of sources) {
        try {
          await read(metrics);
        } catch (error) {
          onUnread(error);
        }
      }
      return metricsText(metrics, registry);
    },
    flush: () => log.flush(),
  };
}
