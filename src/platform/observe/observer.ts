// Where requests become visible: begins and ends their records, and reads the gauges at a scrape.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { collectDefaultMetrics, Registry } from "prom-client";
import type { Clock } from "../../core/clock.ts";
import { NANO_PER_USD, type Nano } from "../../core/money.ts";
import type { Leg } from "../../core/route.ts";
import { VERSION } from "../../core/version.ts";
import { createCounting } from "./count.ts";
import type { Log } from "./log.ts";
import { createMetrics, metricsText } from "./metrics.ts";
import { newRecord, type RecordStart, type RequestRecord } from "./record.ts";
import type { HistogramCell } from "./series.ts";

/** What the ledger holds now, for the gauges. */
export interface MoneyTotals {
  readonly accounts: number;
  readonly holdsOpen: number;
  readonly heldNano: Nano;
  /** As text: more than a number counts exactly. */
  readonly spentNano: string;
  /** The part of it that is play money of sandbox accounts. */
  readonly play: { readonly heldNano: Nano; readonly spentNano: string };
}

/** A route that rests after failures, and may be asked again later. */
export interface RestingRoute {
  readonly provider: string;
  readonly model: string;
}

/** What waits to be told to a ledger that many processes share. */
export interface SpoolWaiting {
  readonly depth: number;
  /** 0 where nothing waits. */
  readonly oldestMs: number;
}

/** The jobs of this process. */
export interface JobsRunning {
  readonly running: number;
  readonly oldestMs: number;
  readonly stillMs: number;
  readonly adopted: number;
  readonly ended: readonly { readonly kind: string; readonly status: string; readonly count: number }[];
}

/** The sessions of this process, and the boxes of all that are to be closed. */
export interface SessionsOpen {
  readonly open: number;
  readonly unclosed: { readonly count: number; readonly oldestMs: number };
}

/** Payments on chain that may have been made. */
export interface PaymentsOpen {
  readonly count: number;
  /** 0 where there is none. */
  readonly oldestMs: number;
}

/** A job that has ended. */
export interface EndedJob {
  readonly id: string;
  /** The request that launched it, and the trace that request was part of; null: the request began one. */
  readonly launch: { readonly requestId: string; readonly callerTraceId: string | null };
  readonly action: string;
  readonly accountId: string;
  readonly sandbox: boolean;
  readonly succeeded: boolean;
  readonly startedAtMs: number;
  readonly chargedCents: number;
  readonly legs: readonly Leg[];
}

export interface ScrapeSource {
  totals?(): Promise<MoneyTotals>;
  spool?(): SpoolWaiting;
  /** How late postings are on their way to the archive; null where another process moves them. */
  archiveBehindMs?(): number | null;
  restingRoutes?(): readonly RestingRoute[];
  /** How old the list of models in force is; null: there is none. */
  modelListAgeMs?(): number | null;
  answersWaitingBytes?(): number;
  jobs?(): JobsRunning;
  sessions?(): SessionsOpen;
  payments?(): PaymentsOpen;
  /** The same of those that we make. */
  walletPayments?(): PaymentsOpen;
  disk?(): Promise<{ readonly freeBytes: number; readonly freeBytesMin: number }>;
}

export interface Observer {
  /** A request has come: it is in flight until `end`. */
  begin(start: RecordStart): RequestRecord;
  /** The request is over: measures its duration, writes its log line and counts it. Once per record. */
  end(record: RequestRecord): void;
  /** How long an operation of the ledger took, such as `reserve` or `post`, seen from the event loop. */
  ledgerTook(operation: string, ms: number): void;
  /** A call or a job has ended that was charged so much, and cost us so much: what is not paid of that is counted. */
  unpaid(chargedNano: Nano, upstreamNano: Nano): void;
  /** A job has ended, and its hold with it. */
  jobEnded(job: EndedJob): void;
  /** A payment on chain was tried. */
  settled(outcome: "settled" | "refused" | "open"): void;
  /** A merchant that is paid by the call has asked for a payment. */
  merchantPaid(rail: "mpp" | "x402" | "none", outcome: "paid" | "refused" | "unanswered" | "unpaid"): void;
  /** The operator's guard has been asked. */
  guardJudged(stage: "request" | "answer", outcome: "pass" | "refuse" | "edit" | "away"): void;
  /** A call was kept in the request log, or there was no room for it. */
  callLogged(outcome: "kept" | "left_out"): void;
  /** A model that was asked as the guard takes so much from us. */
  guardCost(model: string, upstreamNano: Nano): void;
  /** An answer of a provider counts what has no price here. */
  unpriced(provider: string, counter: string, sandbox: boolean): void;
  /** A provider has said that an answer of a model cost so much more than was charged for it. */
  lost(provider: string, model: string, lostNano: Nano): void;
  /** A caller sent a sealed thought that does not open for where it would go. */
  sealUnopened(): void;
  /** Asked at each scrape. Where it rejects, that is logged and the gauges keep their last values. */
  onScrape(source: ScrapeSource): void;
  /** Requests begun and not ended. */
  inFlight(): number;
  readonly contentType: string;
  /** Everything in Prometheus' text format. */
  metricsText(): Promise<string>;
  /** Writes the log lines that wait. */
  flush(): void;
}

export interface ObserverOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Tells models, tiers and actions of the catalog from names that callers made up, which are never labels. */
  readonly isKnown: (name: string) => boolean;
  /** An adapter's name in OpenTelemetry's conventions. Default: its id. */
  readonly otelName?: (provider: string) => string;
  /** What of the work of all processes this one does. Default: both. */
  readonly role?: "both" | "serve" | "work" | "split";
  /** Hears why gauges could not be read. Default: it is logged. */
  readonly onUnread?: (error: unknown) => void;
  /** Hears of each request that has ended. */
  readonly onEnd?: (record: RequestRecord) => void;
  /** Hears of each job that has ended. */
  readonly onJobEnd?: (job: EndedJob) => void;
}

/** How often it is looked whether the event loop comes around. */
const LOOK_MS = 10;

/** Tells the longest time beyond a look's own that the event loop did not come around since it was last asked. */
function longestHolds(): () => number {
  const delays = monitorEventLoopDelay({ resolution: LOOK_MS });
  delays.enable();
  return () => {
    const longestS = Math.max(0, delays.max / 1e9 - LOOK_MS / 1e3);
    delays.reset();
    return longestS;
  };
}

export function createObserver(options: ObserverOptions): Observer {
  const { clock, log, isKnown, otelName = (provider) => provider, role = "both", onEnd, onJobEnd } = options;
  const { onUnread = (err: unknown) => log.logger.warn({ err }, "gauges not read") } = options;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  // A gauge must not be called a total; these three are sums of gauges that are there by kind.
  for (const kind of ["resources", "handles", "requests"]) registry.removeSingleMetric(`nodejs_active_${kind}_total`);
  const metrics = createMetrics(registry);
  metrics.build.set({ version: VERSION, node: process.versions.node, role }, 1);
  const count = createCounting(metrics, isKnown, otelName);
  const longestHold = longestHolds();
  const ledgerCells = new Map<string, HistogramCell>();
  const sources: ScrapeSource[] = [];
  let inFlight = 0;

  async function readGauges(source: ScrapeSource): Promise<void> {
    if (source.restingRoutes) {
      metrics.resting.reset();
      for (const { provider, model } of source.restingRoutes()) metrics.resting.set({ provider, model }, 1);
    }
    if (source.modelListAgeMs) metrics.modelListAge.set((source.modelListAgeMs() ?? 0) / 1000);
    const spool = source.spool?.();
    if (spool) {
      metrics.spoolDepth.set(spool.depth);
      metrics.spoolOldest.set(spool.oldestMs / 1000);
    }
    if (source.archiveBehindMs) metrics.archiveBehind.set((source.archiveBehindMs() ?? 0) / 1000);
    if (source.answersWaitingBytes) metrics.answersWaiting.set(source.answersWaitingBytes());
    const jobs = source.jobs?.();
    if (jobs) {
      metrics.jobsRunning.set(jobs.running);
      metrics.jobsOldest.set(jobs.oldestMs / 1000);
      metrics.jobsStill.set(jobs.stillMs / 1000);
      metrics.jobsAdopted.cell({}).total = jobs.adopted;
      for (const { kind, status, count: ended } of jobs.ended) metrics.jobsEnded.cell({ kind, status }).total = ended;
    }
    const sessions = source.sessions?.();
    if (sessions) {
      metrics.sessionsOpen.set(sessions.open);
      metrics.boxesUnclosed.set(sessions.unclosed.count);
      metrics.boxesUnclosedOldest.set(sessions.unclosed.oldestMs / 1000);
    }
    const walletPayments = source.walletPayments?.();
    if (walletPayments) {
      metrics.walletOpen.set(walletPayments.count);
      metrics.walletOpenOldest.set(walletPayments.oldestMs / 1000);
    }
    const payments = source.payments?.();
    if (payments) {
      metrics.paymentsOpen.set(payments.count);
      metrics.paymentsOpenOldest.set(payments.oldestMs / 1000);
    }
    const disk = await source.disk?.();
    if (disk) {
      metrics.diskFree.set(disk.freeBytes);
      metrics.diskNeeded.set(disk.freeBytesMin);
    }
    const totals = await source.totals?.();
    if (!totals) return;
    metrics.accounts.set(totals.accounts);
    metrics.holdsOpen.set(totals.holdsOpen);
    const { heldNano, spentNano, play } = totals;
    metrics.held.labels({ sandbox: "0" }).set((heldNano - play.heldNano) / NANO_PER_USD);
    metrics.held.labels({ sandbox: "1" }).set(play.heldNano / NANO_PER_USD);
    metrics.spent.labels({ sandbox: "0" }).set(Number(BigInt(spentNano) - BigInt(play.spentNano)) / NANO_PER_USD);
    metrics.spent.labels({ sandbox: "1" }).set(Number(play.spentNano) / NANO_PER_USD);
  }

  return {
    contentType: registry.contentType,
    begin(start) {
      inFlight += 1;
      return newRecord(start);
    },
    end(record) {
      inFlight -= 1;
      record.durationMs = clock.elapsedMs() - record.startedMs;
      log.request(record);
      count(record);
      onEnd?.(record);
    },
    ledgerTook(operation, ms) {
      let cell = ledgerCells.get(operation);
      if (cell === undefined) {
        cell = metrics.ledger.cell({ operation });
        ledgerCells.set(operation, cell);
      }
      cell.observe(ms / 1000);
    },
    unpaid(chargedNano, upstreamNano) {
      if (upstreamNano > chargedNano)
        metrics.unpaid.cell({ charged: chargedNano > 0 ? "1" : "0" }).total += upstreamNano - chargedNano;
    },
    jobEnded(job) {
      onJobEnd?.(job);
    },
    settled(outcome) {
      metrics.settlements.cell({ outcome }).total += 1;
    },
    merchantPaid(rail, outcome) {
      metrics.merchantPayments.cell({ rail, outcome }).total += 1;
    },
    guardJudged(stage, outcome) {
      metrics.guardJudged.cell({ stage, outcome }).total += 1;
    },
    callLogged(outcome) {
      metrics.callsLogged.cell({ outcome }).total += 1;
    },
    guardCost(model, upstreamNano) {
      metrics.guardCost.cell({ model }).total += upstreamNano;
    },
    unpriced(provider, counter, sandbox) {
      metrics.unpriced.cell({ provider, counter, sandbox: sandbox ? "1" : "0" }).total += 1;
    },
    lost(provider, model, lostNano) {
      metrics.lost.cell({ provider, model }).total += lostNano;
    },
    sealUnopened() {
      metrics.sealsUnopened.cell({}).total += 1;
    },
    onScrape(source) {
      sources.push(source);
    },
    inFlight: () => inFlight,
    async metricsText() {
      metrics.inFlight.set(inFlight);
      metrics.longestHold.set(longestHold());
      for (const source of sources) {
        await readGauges(source).catch(onUnread);
      }
      return metricsText(metrics, registry);
    },
    flush: () => log.flush(),
  };
}
