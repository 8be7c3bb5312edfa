// Batches as their wires show them, from the job's record.
import { centsUp, usdNumber, ZERO } from "../../core/money.ts";
import { NO_USAGE } from "../../core/token-usage.ts";
import { isOver, type JobRecord } from "../jobs/job-record.ts";
import { type BatchProgress, type BatchResult, type BatchStart, batchIdOf, modeOf, WINDOW_MS } from "./batch-record.ts";

export type BatchStatus =
  | BatchProgress["state"]
  | BatchResult["status"]
  /** Its payer has cancelled it, and lines in flight are ending. */
  | "cancelling";

/** A batch, however far it has come. */
export interface BatchState {
  readonly jobId: string;
  readonly start: BatchStart;
  readonly progress: BatchProgress | null;
  readonly result: BatchResult | null;
  readonly status: BatchStatus;
  /** When its payer cancelled it; null: not at all. */
  readonly cancelledAtMs: number | null;
}

const BROKEN = [
  { code: "internal_error", message: "The gateway failed to run this batch. Lines without a result were not charged." },
];

/** `cancelledAtMs`: when its payer cancelled it, as far as is known. */
export function batchState(job: JobRecord, cancelledAtMs: number | null): BatchState {
  const start = job.start as BatchStart;
  const progress = job.progress as BatchProgress | null;
  const known = { jobId: job.id, start, progress, cancelledAtMs };
  if (!isOver(job)) {
    const status = cancelledAtMs === null ? (progress?.state ?? "validating") : "cancelling";
    return { ...known, result: null, status };
  }
  const kept = job.end?.result as BatchResult | null;
  const failed: BatchResult = {
    batch_id: batchIdOf(job.id, start.wire),
    status: "failed",
    endedAtMs: job.movedAtMs ?? job.createdAtMs,
    output_file_id: null,
    error_file_id: null,
    errors: BROKEN,
  };
  const result = kept ?? failed;
  return { ...known, result, status: result.status };
}

/** A batch that was just created. */
export function newState(jobId: string, start: BatchStart): BatchState {
  return { jobId, start, progress: null, result: null, status: "validating", cancelledAtMs: null };
}

const seconds = (ms: number | null | undefined): number | null => (ms == null ? null : Math.floor(ms / 1_000));

function usageOf({ usage, spentNano }: Pick<BatchProgress, "usage" | "spentNano">) {
  const inputTokens = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: usage.cacheReadTokens },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: inputTokens + usage.outputTokens,
    cost: usdNumber(spentNano),
  };
}

/** What only this gateway says about a batch. */
function tollgateOf({ start, progress }: BatchState) {
  const { boundNano = ZERO, affordable = 0, done = 0, total = 0, stop = null, spentCents = 0 } = progress ?? {};
  return {
    mode: modeOf(start, progress),
    bound_usd: usdNumber(boundNano),
    bound_cents: centsUp(boundNano),
    charged_cents: spentCents,
    affordable_lines: affordable,
    lines_left: total - done,
    stopped: stop,
  };
}

/** The batch of the wire with input files. */
export function fileBatch(state: BatchState): Record<string, unknown> {
  const { jobId, start, progress, result, status, cancelledAtMs } = state;
  const { total = 0, done = 0, failed = 0, refused = 0, usage = NO_USAGE, spentNano = ZERO } = progress ?? {};
  const mode = modeOf(start, progress);
  const ended = (wanted: BatchStatus) => (status === wanted ? seconds(result?.endedAtMs) : null);
  return {
    id: batchIdOf(jobId, start.wire),
    object: "batch",
    endpoint: start.endpoint,
    errors:
      result === null || result.errors.length === 0
        ? null
        : { object: "list", data: result.errors.map((error) => ({ param: null, line: null, ...error })) },
    input_file_id: start.inputId,
    completion_window: "24h",
    status,
    output_file_id: result?.output_file_id ?? null,
    error_file_id: result?.error_file_id ?? null,
    created_at: seconds(start.createdAtMs),
    in_progress_at: seconds(progress?.inProgressAtMs),
    expires_at: seconds(start.createdAtMs + WINDOW_MS),
    finalizing_at: seconds(progress?.finalizingAtMs),
    completed_at: ended("completed"),
    failed_at: ended("failed"),
    expired_at: ended("expired"),
    cancelling_at: seconds(cancelledAtMs),
    cancelled_at: ended("cancelled"),
    request_counts: { total, completed: done - failed - refused, failed: failed + refused },
    usage: usageOf({ usage, spentNano }),
    metadata: { ...start.metadata, ...(mode === null ? {} : { tollgate_mode: mode }) },
    tollgate: tollgateOf(state),
  };
}
