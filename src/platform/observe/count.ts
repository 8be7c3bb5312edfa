// What an ended request adds to the metrics. Labels are few and bounded: names that callers invent become `_other`.
import type { Leg } from "../../core/route.ts";
import type { Metrics } from "./metrics.ts";
import type { RequestRecord } from "./record.ts";
import type { CounterCell, HistogramCell } from "./series.ts";

/** Combinations of models beyond this many share one row, whatever a large catalog and its callers come up with. */
const MODEL_CELLS_MAX = 1_000;
/** What OpenTelemetry's conventions call an operation of generative AI. A call of an action is none. */
export const GEN_AI_OPERATIONS: ReadonlySet<string> = new Set(["chat", "embeddings", "text_completion"]);
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

/** Made for a label's first call and kept, so that no call makes a text of all its labels to find its cells. */
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

/** What is counted of every request, by what few values each can have. */
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

/** `otelProvider`: what the conventions call the provider. */
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
  const common = { "0": commonCells(metrics, "0"), "1": commonCells(metrics, "1") };
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
  function countAttempts(record: RequestRecord, { labels }: ModelCells, sandbox: "0" | "1"): number {
    const { asked } = labels;
    let attemptsMs = 0;
    let left = record.attempts.length;
    for (const { provider, failure, ms, firstTokenMs } of record.attempts) {
      left -= 1;
      attemptsMs += ms;
      const cells = common[sandbox].provider(provider);
      cells.attempts(failure ?? "ok").total += 1;
      if (firstTokenMs !== null) cells.firstToken.observe(firstTokenMs / 1000);
      if (failure === null || left === 0) continue;
      const served = record.served === null ? NONE : labels.served;
      metrics.fallbacks.cell({ asked, served, reason: failure, sandbox }).total += 1;
    }
    return attemptsMs;
  }

  function countPaid(record: RequestRecord, operation: string, sandbox: "0" | "1"): void {
    const { outcomes, overhead } = common[sandbox].operation(operation);
    outcomes(record.outcome ?? "failed").total += 1;
    if (record.absorbedNano > 0) {
      metrics.absorbed.cell({ reason: record.absorbReason ?? OTHER, sandbox }).total += record.absorbedNano;
    }
    const last = record.attempts.at(-1);
    if (last === undefined) return;
    const cells = cellsOf(record, operation, last, sandbox);
    const attemptsMs = countAttempts(record, cells, sandbox);
    if (record.outcome === "success") {
      overhead.observe(Math.max(0, record.durationMs - attemptsMs) / 1000);
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
    const { requests, duration } = common[sandbox].endpoint(record.endpoint);
    requests(record.code ?? "")(record.status).total += 1;
    duration.observe(record.durationMs / 1000);
    if (record.operation !== null) countPaid(record, record.operation, sandbox);
  };
}
