// What an ended request adds to the metrics. Labels are few and bounded: names that callers invent become `_other`.
import type { Leg } from "../route.ts";
import type { Metrics } from "./metrics.ts";
import type { RequestRecord } from "./record.ts";
import type { CounterCell, HistogramCell } from "./series.ts";

/** Combinations of models beyond this many share one row, whatever a large catalog and its callers come up with. */
const MODEL_CELLS_MAX = 1_000;
/** What OpenTelemetry's conventions call an operation of generative AI. A call of an action is none. */
const GEN_AI_OPERATIONS: ReadonlySet<string> = new Set(["chat", "embeddings", "text_completion"]);
const OTHER = "_other";
const NONE = "_none";

/** All that is counted for one combination of operation, provider and models. */
interface ModelCells {
  readonly labels: ModelLabels;
  /** By the error's code; the empty one is success. */
  readonly duration: (code: string) => HistogramCell;
  /** Null for what is no operation of generative AI. */
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

/** Made of a code's first call and kept. */
function byCode(make: (code: string) => HistogramCell): (code: string) => HistogramCell {
  const made = new Map<string, HistogramCell>();
  return (code) => {
    let cell = made.get(code);
    if (cell === undefined) {
      cell = make(code);
      made.set(code, cell);
    }
    return cell;
  };
}

/** `otelProvider`: what the conventions call the provider. */
function modelCells(metrics: Metrics, labels: ModelLabels, otelProvider: string): ModelCells {
  const money = { charged: metrics.charged.cell(labels), upstreamCost: metrics.upstreamCost.cell(labels) };
  if (!GEN_AI_OPERATIONS.has(labels.operation)) {
    const duration = byCode((code) => metrics.actionDuration.cell({ ...labels, code }));
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
    duration: byCode((code) => metrics.duration.cell({ ...genAi, error_type: code })),
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

/**
 * Makes the function that counts ended requests. `isKnown` tells the models, tiers and actions of the catalog from
 * names that callers made up; `otelName` gives an adapter's name in OpenTelemetry's conventions.
 */
export function createCounting(
  metrics: Metrics,
  isKnown: (name: string) => boolean,
  otelName: (provider: string) => string,
): (record: RequestRecord) => void {
  const byModel = new Map<string, ModelCells>();
  const known = (name: string) => (isKnown(name) ? name : OTHER);

  /** A list of models is counted under the first that is known, which is what the caller wanted most. */
  function askedOf(asked: string | null): string {
    if (asked === null) return OTHER;
    return asked.includes(",") ? (asked.split(",").find(isKnown) ?? OTHER) : known(asked);
  }

  function cellsOf(record: RequestRecord, operation: string, last: Leg, sandbox: string): ModelCells {
    const asked = askedOf(record.asked);
    const served = known(record.served ?? last.model);
    const provider = record.provider ?? last.provider;
    const key = `${sandbox}${operation}\n${provider}\n${asked}\n${served}`;
    const found = byModel.get(key);
    if (found !== undefined) return found;
    const room = byModel.size < MODEL_CELLS_MAX;
    const models = room ? { asked, served } : { asked: OTHER, served: OTHER };
    const cells = modelCells(metrics, { operation, provider, ...models, sandbox }, otelName(provider));
    if (room) byModel.set(key, cells);
    return cells;
  }

  /** What every attempt cost us, by its own vendor: also of those that did not serve, and of calls that a function of ours made. */
  function countCosts(record: RequestRecord, { labels, upstreamCost }: ModelCells): void {
    const { operation, asked, sandbox } = labels;
    for (const { provider, model, failure, upstreamNano } of record.attempts) {
      if (upstreamNano === 0) continue;
      if (provider === record.provider && model === record.served) {
        upstreamCost.total += upstreamNano;
        continue;
      }
      const served = failure === null ? known(model) : NONE;
      metrics.upstreamCost.cell({ operation, provider, asked, served, sandbox }).total += upstreamNano;
    }
  }

  /** Answers how long all attempts took. */
  function countAttempts(record: RequestRecord, { labels }: ModelCells): number {
    const { asked, sandbox } = labels;
    let attemptsMs = 0;
    for (const [index, { provider, failure, ms, firstTokenMs }] of record.attempts.entries()) {
      attemptsMs += ms;
      metrics.attempts.cell({ provider, outcome: failure ?? "ok", sandbox }).total += 1;
      if (firstTokenMs !== null) metrics.attemptFirstToken.cell({ provider, sandbox }).observe(firstTokenMs / 1000);
      if (failure === null || index === record.attempts.length - 1) continue;
      const served = record.served === null ? NONE : labels.served;
      metrics.fallbacks.cell({ asked, served, reason: failure, sandbox }).total += 1;
    }
    return attemptsMs;
  }

  function countPaid(record: RequestRecord, operation: string, sandbox: string): void {
    metrics.outcomes.cell({ operation, outcome: record.outcome ?? "failed", sandbox }).total += 1;
    if (record.absorbedNano > 0) {
      metrics.absorbed.cell({ reason: record.absorbReason ?? OTHER, sandbox }).total += record.absorbedNano;
    }
    const last = record.attempts.at(-1);
    if (last === undefined) return;
    const cells = cellsOf(record, operation, last, sandbox);
    const attemptsMs = countAttempts(record, cells);
    if (record.outcome === "success") {
      metrics.overhead.cell({ operation, sandbox }).observe(Math.max(0, record.durationMs - attemptsMs) / 1000);
    }
    if (record.skippedEvents > 0) {
      metrics.skippedEvents.cell({ provider: cells.labels.provider, sandbox }).total += record.skippedEvents;
    }
    countTimes(cells, record);
    countTokens(cells, record);
    cells.charged.total += record.chargedNano;
    countCosts(record, cells);
  }

  return (record) => {
    const sandbox = record.sandbox ? "1" : "0";
    const { endpoint } = record;
    metrics.requests.cell({ endpoint, status: String(record.status), code: record.code ?? "", sandbox }).total += 1;
    metrics.requestDuration.cell({ endpoint, sandbox }).observe(record.durationMs / 1000);
    if (record.operation !== null) countPaid(record, record.operation, sandbox);
  };
}
