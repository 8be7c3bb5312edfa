// Adds ended requests to the metrics. Labels are bounded: names made up by callers become `_other`.
import type { Leg } from "../../core/route.ts";
import type { Metrics } from "./metrics.ts";
import type { RequestRecord } from "./record.ts";
import type { CounterCell, HistogramCell } from "./series.ts";

/** Beyond this, further model combinations share one row. */
const MODEL_CELLS_MAX = 1_000;
/** The generative-AI operations in OpenTelemetry's conventions; action calls are not among them. */
export const GEN_AI_OPERATIONS: ReadonlySet<string> = new Set(["chat", "embeddings", "text_completion"]);
const OTHER = "_other";
const NONE = "_none";

interface ModelCells {
  readonly labels: ModelLabels;
  /** By error code; empty for success. */
  readonly duration: (code: string) => HistogramCell;
  /** Null for operations outside generative AI. */
  readonly genAi: GenAiCells | null;
  readonly charged: CounterCell;
  readonly upstreamCost: CounterCell;
}

interface GenAiCells {
  readonly firstToken: HistogramCell;
  readonly perToken: HistogramCell;
  readonly input: HistogramCell;
  readonly cachedInput: HistogramCell;
  readonly cacheCreationInput: HistogramCell;
  readonly output: HistogramCell;
  readonly reasoning: HistogramCell;
}

interface ModelLabels {
  readonly operation: string;
  readonly provider: string;
  readonly asked: string;
  readonly served: string;
  readonly sandbox: string;
}

/** Caches cells by label, so that a call need not build a key from all its labels. */
function by<Label, Cells>(make: (label: Label) => Cells): (label: Label) => Cells {
  const made = new Map<Label, Cells>();
  return (label) => {
    let cells = made.get(label);
    if (cells === undefined) {
      cells = make(label);
      made.set(label, cells);
    }
    return cells;
  };
}

/** The cells for every request, by labels with few values. */
function commonCells(metrics: Metrics, sandbox: string) {
  return {
    endpoint: by((endpoint: string) => ({
      duration: metrics.requestDuration.cell({ endpoint, sandbox }),
      requests: by((code: string) =>
        by((status: number) => metrics.requests.cell({ endpoint, status: String(status), code, sandbox })),
      ),
    })),
    operation: by((operation: string) => ({
      overhead: metrics.overhead.cell({ operation, sandbox }),
      outcomes: by((outcome: string) => metrics.outcomes.cell({ operation, outcome, sandbox })),
    })),
    provider: by((provider: string) => ({
      firstToken: metrics.attemptFirstToken.cell({ provider, sandbox }),
      attempts: by((outcome: string) => metrics.attempts.cell({ provider, outcome, sandbox })),
    })),
  };
}

/** `otelProvider`: the provider's name in the conventions. */
function modelCells(metrics: Metrics, labels: ModelLabels, otelProvider: string): ModelCells {
  const money = { charged: metrics.charged.cell(labels), upstreamCost: metrics.upstreamCost.cell(labels) };
  if (!GEN_AI_OPERATIONS.has(labels.operation)) {
    const duration = by((code: string) => metrics.actionDuration.cell({ ...labels, code }));
    return { labels, duration, genAi: null, ...money };
  }
  const genAi = {
    gen_ai_operation_name: labels.operation,
    gen_ai_provider_name: otelProvider,
    gen_ai_request_model: labels.asked,
    gen_ai_response_model: labels.served,
    sandbox: labels.sandbox,
  };
  const tokens = (type: string) => metrics.tokenUsage.cell({ ...genAi, gen_ai_token_type: type });
  return {
    labels,
    duration: by((code: string) => metrics.duration.cell({ ...genAi, error_type: code })),
    genAi: {
      firstToken: metrics.firstToken.cell(genAi),
      perToken: metrics.perToken.cell(genAi),
      input: tokens("input"),
      cachedInput: tokens("cached_input"),
      cacheCreationInput: tokens("cache_creation_input"),
      output: tokens("output"),
      reasoning: tokens("reasoning"),
    },
    ...money,
  };
}

function countTokens({ genAi: cells }: ModelCells, record: RequestRecord): void {
  const { usage } = record;
  if (usage === null || cells === null) return;
  cells.input.observe(usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens);
  if (usage.cacheReadTokens > 0) cells.cachedInput.observe(usage.cacheReadTokens);
  if (usage.cacheWriteTokens > 0) cells.cacheCreationInput.observe(usage.cacheWriteTokens);
  cells.output.observe(usage.outputTokens);
  if (usage.reasoningTokens > 0) cells.reasoning.observe(usage.reasoningTokens);
}

function countTimes(cells: ModelCells, record: RequestRecord): void {
  cells.duration(record.code ?? "").observe(record.durationMs / 1000);
  if (cells.genAi === null || !record.streamed || record.firstTokenMs === null) return;
  cells.genAi.firstToken.observe(record.firstTokenMs / 1000);
  const laterTokens = (record.usage?.outputTokens ?? 0) - 1;
  if (laterTokens > 0) cells.genAi.perToken.observe((record.durationMs - record.firstTokenMs) / 1000 / laterTokens);
}

type Sandbox = "0" | "1";

/** Counts ended requests. `isKnown` tells the catalog's names from callers'; `otelName`: a provider in OpenTelemetry's conventions. */
export class Counting {
  readonly #metrics: Metrics;
  readonly #isKnown: (name: string) => boolean;
  readonly #otelName: (provider: string) => string;
  readonly #byModel = new Map<string, ModelCells>();
  readonly #common: Readonly<Record<Sandbox, ReturnType<typeof commonCells>>>;

  constructor(metrics: Metrics, isKnown: (name: string) => boolean, otelName: (provider: string) => string) {
    this.#metrics = metrics;
    this.#isKnown = isKnown;
    this.#otelName = otelName;
    this.#common = { "0": commonCells(metrics, "0"), "1": commonCells(metrics, "1") };
  }

  count(record: RequestRecord): void {
    const sandbox = record.sandbox ? "1" : "0";
    const { requests, duration } = this.#common[sandbox].endpoint(record.endpoint);
    requests(record.code ?? "")(record.status).total += 1;
    duration.observe(record.durationMs / 1000);
    if (record.operation !== null) this.#countPaid(record, record.operation, sandbox);
  }

  #countPaid(record: RequestRecord, operation: string, sandbox: Sandbox): void {
    const { absorbed, skippedEvents } = this.#metrics;
    const { outcomes, overhead } = this.#common[sandbox].operation(operation);
    outcomes(record.outcome ?? "failed").total += 1;
    if (record.absorbedNano > 0)
      absorbed.cell({ reason: record.absorbReason ?? OTHER, sandbox }).total += record.absorbedNano;
    const last = record.attempts.at(-1);
    if (last === undefined) return;
    const cells = this.#cellsOf(record, operation, last, sandbox);
    const attemptsMs = this.#countAttempts(record, cells, sandbox);
    if (record.outcome === "success") overhead.observe(Math.max(0, record.durationMs - attemptsMs) / 1000);
    if (record.skippedEvents > 0)
      skippedEvents.cell({ provider: cells.labels.provider, sandbox }).total += record.skippedEvents;
    countTimes(cells, record);
    countTokens(cells, record);
    cells.charged.total += record.chargedNano;
    this.#countCosts(record, cells);
  }

  #cellsOf(record: RequestRecord, operation: string, last: Leg, sandbox: Sandbox): ModelCells {
    const asked = this.#askedOf(record.asked);
    const served = this.#known(record.served ?? last.model);
    const provider = record.provider ?? last.provider;
    const key = `${sandbox}${operation}\n${provider}\n${asked}\n${served}`;
    const found = this.#byModel.get(key);
    if (found !== undefined) return found;
    const hasRoom = this.#byModel.size < MODEL_CELLS_MAX;
    const models = hasRoom ? { asked, served } : { asked: OTHER, served: OTHER };
    const cells = modelCells(this.#metrics, { operation, provider, ...models, sandbox }, this.#otelName(provider));
    if (hasRoom) this.#byModel.set(key, cells);
    return cells;
  }

  #known(name: string): string {
    return this.#isKnown(name) ? name : OTHER;
  }

  /** For a list of models, the first known one, which the caller prefers. */
  #askedOf(asked: string | null): string {
    if (asked === null) return OTHER;
    return asked.includes(",") ? (asked.split(",").find(this.#isKnown) ?? OTHER) : this.#known(asked);
  }

  /** The vendor cost of every attempt, including failed ones and inner calls of our own functions. */
  #countCosts(record: RequestRecord, { labels, upstreamCost }: ModelCells): void {
    const { operation, asked, sandbox } = labels;
    for (const { provider, model, failure, upstreamNano } of record.attempts) {
      if (upstreamNano === 0) continue;
      if (provider === record.provider && model === record.served) {
        upstreamCost.total += upstreamNano;
        continue;
      }
      const served = failure === null ? this.#known(model) : NONE;
      this.#metrics.upstreamCost.cell({ operation, provider, asked, served, sandbox }).total += upstreamNano;
    }
  }

  /** Returns the time of all attempts. */
  #countAttempts(record: RequestRecord, { labels }: ModelCells, sandbox: Sandbox): number {
    const { asked } = labels;
    let attemptsMs = 0;
    let left = record.attempts.length;
    for (const { provider, failure, ms, firstTokenMs } of record.attempts) {
      left -= 1;
      attemptsMs += ms;
      const cells = this.#common[sandbox].provider(provider);
      cells.attempts(failure ?? "ok").total += 1;
      if (firstTokenMs !== null) cells.firstToken.observe(firstTokenMs / 1000);
      if (failure === null || left === 0) continue;
      const served = record.served === null ? NONE : labels.served;
      this.#metrics.fallbacks.cell({ asked, served, reason: failure, sandbox }).total += 1;
    }
    return attemptsMs;
  }
}
