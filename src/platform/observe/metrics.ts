// Every metric of the gateway, in one table. Names and bounds of `gen_ai_*` follow OpenTelemetry's conventions.
import { Gauge, type Registry } from "prom-client";
import { NANO_PER_USD, type Nano } from "../../core/money.ts";
import { eachInSlices } from "../../core/slices.ts";
import { CounterSeries, HistogramSeries } from "./series.ts";

const DURATION_S = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);
const PER_TOKEN_S = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
/** The convention's bounds, extended beyond its 10 s for reasoning models. */
const FIRST_TOKEN_S = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 15, 20, 30, 45, 60,
];
const OWN_WORK_S = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];

export interface MetricRow {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  readonly bounds?: readonly number[];
  readonly unit?: number;
  readonly merge?: "sum";
}

const GEN_AI = [
  "gen_ai_operation_name",
  "gen_ai_provider_name",
  "gen_ai_request_model",
  "gen_ai_response_model",
  "sandbox",
] as const;
const MODEL = ["operation", "provider", "asked", "served", "sandbox"] as const;

/**
 * A row with `bounds` is a histogram, a name that ends in `_total` a counter, and the rest are gauges. Every process sees the same value
 * of a gauge, so merging takes the highest; gauges with `merge: "sum"` add up, like counters and histograms.
 */
export const METRICS = {
  tokenUsage: {
    name: "gen_ai_client_token_usage",
    help: "Tokens per call. input and output are totals; cached_input and cache_creation_input are parts of input, reasoning of output",
    labels: [...GEN_AI, "gen_ai_token_type"],
    bounds: TOKENS,
  },
  duration: {
    name: "gen_ai_server_request_duration_seconds",
    help: "From the request's head to the end of its answer, of calls that reached a provider; error_type is empty on success",
    labels: [...GEN_AI, "error_type"],
    bounds: DURATION_S,
  },
  firstToken: {
    name: "gen_ai_server_time_to_first_token_seconds",
    help: "From the request's head to the first content sent, of streamed answers",
    labels: GEN_AI,
    bounds: FIRST_TOKEN_S,
  },
  perToken: {
    name: "gen_ai_server_time_per_output_token_seconds",
    help: "Time after the first token divided by the tokens after it, of streamed answers",
    labels: GEN_AI,
    bounds: PER_TOKEN_S,
  },
  actionDuration: {
    name: "tollgate_action_duration_seconds",
    help: "From the request's head to the end of its answer, for action calls that reached a vendor; code is empty on success",
    labels: [...MODEL, "code"],
    bounds: DURATION_S,
  },
  requests: {
    name: "tollgate_requests_total",
    help: "Requests answered; code is empty without an error, status is 0 if the client left first",
    labels: ["endpoint", "status", "code", "sandbox"],
  },
  requestDuration: {
    name: "tollgate_request_duration_seconds",
    help: "From the request's head to the end of its answer",
    labels: ["endpoint", "sandbox"],
    bounds: DURATION_S,
  },
  outcomes: {
    name: "tollgate_outcomes_total",
    help: "How paid requests ended",
    labels: ["operation", "outcome", "sandbox"],
  },
  attempts: {
    name: "tollgate_attempts_total",
    help: "Attempts; outcome is ok or the failure's class",
    labels: ["provider", "outcome", "sandbox"],
  },
  attemptFirstToken: {
    name: "tollgate_attempt_first_token_seconds",
    help: "From the start of an attempt to its first content",
    labels: ["provider", "sandbox"],
    bounds: FIRST_TOKEN_S,
  },
  fallbacks: {
    name: "tollgate_fallbacks_total",
    help: "Fallbacks to another route; served is _none if none could answer",
    labels: ["asked", "served", "reason", "sandbox"],
  },
  charged: { name: "tollgate_charged_usd_total", help: "Charged to payers", labels: MODEL, unit: NANO_PER_USD },
  upstreamCost: {
    name: "tollgate_upstream_cost_usd_total",
    help: "Cost at providers; tollgate_charged_usd_total minus this is the margin",
    labels: MODEL,
    unit: NANO_PER_USD,
  },
  absorbed: {
    name: "tollgate_absorbed_usd_total",
    help: "Cost above holds, charged to nobody",
    labels: ["reason", "sandbox"],
    unit: NANO_PER_USD,
  },
  unpaid: {
    name: "tollgate_unpaid_cost_usd_total",
    help: "Cost of calls and jobs above their charge, by whether they were charged at all",
    labels: ["charged"],
    unit: NANO_PER_USD,
  },
  guardJudged: {
    name: "tollgate_guard_judgements_total",
    help: "The guard's judgements of requests and answers: pass, refuse, edit, or away without an answer",
    labels: ["stage", "outcome"],
  },
  callsLogged: {
    name: "tollgate_request_log_calls_total",
    help: "Calls in the request log, and calls left out for lack of room or because of the disk",
    labels: ["outcome"],
  },
  guardCost: {
    name: "tollgate_guard_cost_usd_total",
    help: "Cost of GUARD_MODEL, charged to nobody",
    labels: ["model"],
    unit: NANO_PER_USD,
  },
  overhead: {
    name: "tollgate_overhead_seconds",
    help: "Time of a good answer outside of attempts: the gateway's own work and its ledger",
    labels: ["operation", "sandbox"],
    bounds: OWN_WORK_S,
  },
  ledger: {
    name: "tollgate_ledger_operation_seconds",
    help: "Ledger operations, as seen by the event loop",
    labels: ["operation"],
    bounds: OWN_WORK_S,
  },
  skippedEvents: {
    name: "tollgate_stream_events_skipped_total",
    help: "Events of providers' streams that could not be parsed",
    labels: ["provider", "sandbox"],
  },
  unpriced: {
    name: "tollgate_unpriced_usage_total",
    help: "Answers with usage that has no price, such as server_tool_use; alarm above 0",
    labels: ["provider", "counter", "sandbox"],
  },
  lost: {
    name: "tollgate_model_losses_usd_total",
    help: "Cost of a model's answers as stated by providers, above their charge; without sandbox accounts",
    labels: ["provider", "model"],
    unit: NANO_PER_USD,
  },
  sealsUnopened: {
    name: "tollgate_seals_unopened_total",
    help: "Encrypted reasoning that was dropped: another account, vendor, model family or secret, or altered",
  },
  build: {
    name: "tollgate_build_info",
    help: "1 for the running version, its Node version and its ROLE",
    labels: ["version", "node", "role"],
  },
  diskFree: { name: "tollgate_disk_free_bytes", help: "Free on the disk of DATA_DIR" },
  diskNeeded: {
    name: "tollgate_disk_needed_bytes",
    help: "Below this free space paid calls are refused: DISK_FREE_MIB_MIN",
  },
  modelListAge: {
    name: "tollgate_model_list_age_seconds",
    help: "Time since `tollgate models update` last compared the models with a list; 0: never",
  },
  inFlight: { name: "tollgate_in_flight", help: "Requests whose answer has not ended", merge: "sum" },
  longestHold: {
    name: "tollgate_event_loop_longest_hold_seconds",
    help: "Longest block of the event loop since the last scrape; alarm above 0.2 s",
  },
  accounts: { name: "tollgate_accounts", help: "Accounts in the ledger" },
  holdsOpen: { name: "tollgate_holds_open", help: "Holds not yet posted or released" },
  held: { name: "tollgate_held_usd", help: "Money in open holds; sandbox accounts separately", labels: ["sandbox"] },
  spent: { name: "tollgate_spent_usd", help: "All charges; sandbox accounts separately", labels: ["sandbox"] },
  spoolDepth: {
    name: "tollgate_spool_depth",
    help: "Ends of calls that the shared ledger has not confirmed",
    merge: "sum",
  },
  spoolOldest: {
    name: "tollgate_spool_oldest_seconds",
    help: "Age of the oldest of them; alarm above half a lease, 30 s",
  },
  archiveBehind: {
    name: "tollgate_archive_behind_seconds",
    help: "Delay of postings from Redis to the archive; alarm above five minutes",
  },
  answersWaiting: {
    name: "tollgate_answers_waiting_bytes",
    help: "Memory of unread answers; ANSWERS_MIB limits it",
    merge: "sum",
  },
  jobsRunning: { name: "tollgate_jobs_running", help: "Running jobs, launched or adopted", merge: "sum" },
  jobsOldest: { name: "tollgate_jobs_oldest_seconds", help: "Since the oldest of them was launched" },
  jobsStill: {
    name: "tollgate_jobs_still_seconds",
    help: "Longest time without progress of any job, or of one that cannot be adopted; alarm above two minutes",
  },
  jobsAdopted: { name: "tollgate_jobs_adopted_total", help: "Jobs taken over from processes that died" },
  jobsEnded: {
    name: "tollgate_jobs_ended_total",
    help: "Ended jobs, by kind; status is succeeded or failed",
    labels: ["kind", "status"],
  },
  batchLines: {
    name: "tollgate_batch_lines_total",
    help: "Lines of batches with a result: completed or failed",
    labels: ["outcome"],
  },
  sessionsOpen: { name: "tollgate_sessions_open", help: "Open sessions", merge: "sum" },
  boxesUnclosed: {
    name: "tollgate_session_boxes_unclosed",
    help: "Machines of ended sessions whose vendors have not confirmed that they are closed, over all processes",
  },
  boxesUnclosedOldest: {
    name: "tollgate_session_boxes_unclosed_oldest_seconds",
    help: "Since the oldest of them was due; alarm above twenty minutes",
  },
  settlements: {
    name: "tollgate_x402_settlements_total",
    help: "Payments on chain by outcome: settled, refused, or open while unknown",
    labels: ["outcome"],
  },
  paymentsOpen: {
    name: "tollgate_x402_payments_open",
    help: "Payments on chain with unknown outcome, over all processes",
  },
  paymentsOpenOldest: {
    name: "tollgate_x402_payments_open_oldest_seconds",
    help: "Since the oldest of them was tried; alarm above ten minutes",
  },
  merchantPayments: {
    name: "tollgate_merchant_payments_total",
    help: "Payments to merchants by outcome: paid, refused, unanswered while unknown, or unpaid",
    labels: ["rail", "outcome"],
  },
  walletOpen: {
    name: "tollgate_wallet_payments_open",
    help: "Payments to merchants with unknown outcome, over all processes",
  },
  walletOpenOldest: {
    name: "tollgate_wallet_payments_open_oldest_seconds",
    help: "Since the oldest of them was signed; alarm above an hour",
  },
  certificateEnd: {
    name: "tollgate_tls_certificate_end_timestamp_seconds",
    help: "When the certificate of the public listener expires, in Unix time; 0 without TLS",
  },
  resting: {
    name: "tollgate_route_resting",
    help: "1 for a route that rests after failures",
    labels: ["provider", "model"],
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

type Table = typeof METRICS;
type LabelsOf<K extends keyof Table> = Table[K] extends { readonly labels: readonly (infer L extends string)[] }
  ? L
  : never;

/** One instrument per row of the table. */
export type Metrics = {
  readonly [K in keyof Table]: Table[K] extends { readonly bounds: readonly number[] }
    ? HistogramSeries<LabelsOf<K>>
    : Table[K]["name"] extends `${string}_total`
      ? CounterSeries<LabelsOf<K>>
      : Gauge<LabelsOf<K>>;
};

export function metricType({ name, bounds }: MetricRow): "counter" | "histogram" | "gauge" {
  if (bounds !== undefined) return "histogram";
  return name.endsWith("_total") ? "counter" : "gauge";
}

function instrument(registry: Registry, row: MetricRow): unknown {
  const { name, help, labels = [] } = row;
  const type = metricType(row);
  if (type === "counter") return new CounterSeries({ name, help, labels }, row.unit ?? 1);
  if (type === "histogram") return new HistogramSeries({ name, help, labels }, row.bounds ?? []);
  return new Gauge({ name, help, labelNames: labels, registers: [registry] });
}

/** Creates the table's instruments; gauges are in `registry`, next to the process metrics. */
export function createMetrics(registry: Registry): Metrics {
  const entries = Object.entries(METRICS).map(([key, row]) => [key, instrument(registry, row)]);
  return Object.fromEntries(entries) as Metrics;
}

interface MoneyTotals {
  readonly accounts: number;
  readonly holdsOpen: number;
  readonly heldNano: Nano;
  /** A string, because it can exceed the exact range of a number. */
  readonly spentNano: string;
  readonly play: { readonly heldNano: Nano; readonly spentNano: string };
}

export function showTotals(gauges: Metrics, { accounts, holdsOpen, heldNano, spentNano, play }: MoneyTotals): void {
  gauges.accounts.set(accounts);
  gauges.holdsOpen.set(holdsOpen);
  gauges.held.labels({ sandbox: "0" }).set((heldNano - play.heldNano) / NANO_PER_USD);
  gauges.held.labels({ sandbox: "1" }).set(play.heldNano / NANO_PER_USD);
  gauges.spent.labels({ sandbox: "0" }).set(Number(BigInt(spentNano) - BigInt(play.spentNano)) / NANO_PER_USD);
  gauges.spent.labels({ sandbox: "1" }).set(Number(play.spentNano) / NANO_PER_USD);
}

export async function metricsText(metrics: Metrics, registry: Registry): Promise<string> {
  const counted = Object.values(metrics).flatMap((series) => (series instanceof Gauge ? [] : [series]));
  const ours = await eachInSlices(counted, async (series) => series.text());
  const gauges = await eachInSlices(registry.getMetricsAsArray(), ({ name }) => registry.getSingleMetricAsString(name));
  return `${ours.join("")}${gauges.join("\n\n")}\n`;
}
