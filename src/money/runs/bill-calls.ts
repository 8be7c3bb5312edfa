// A call as a row of its run's bill, and what it says about the run: sums, loops and the timeline are all made of these.
import type { PostingRow } from "../../core/account-rows.ts";
import { transactionRow } from "../accounts/rows.ts";

/** Times count from the start of the call; the posting was written at its end. */
function timesOf({ createdAtMs, legs }: PostingRow) {
  const served = legs.findLastIndex(({ inRun }) => inRun !== undefined);
  const first = legs[served]?.inRun?.firstTokenMs ?? null;
  const msOf = (some: PostingRow["legs"]) => some.reduce((sum, { ms }) => sum + ms, 0);
  const durationMs = msOf(legs);
  const firstTokenMs = first === null ? null : msOf(legs.slice(0, served)) + first;
  return { durationMs, firstTokenMs, startedAtMs: createdAtMs - durationMs };
}

/** A transaction of a run, with its outcome, its times, and the routes that failed before the one that served. */
export function runCallRow(posting: PostingRow) {
  const { legs } = posting;
  const { durationMs, firstTokenMs } = timesOf(posting);
  const isWhole = legs.length === 0 || legs.some(({ ok }) => ok);
  const failed = legs.filter(({ ok, told }) => !ok && told === undefined);
  return {
    ...transactionRow(posting),
    status: isWhole ? "complete" : "partial",
    first_token_ms: firstTokenMs,
    duration_ms: durationMs,
    ...(isWhole && failed.length > 0
      ? { fell_back_from: failed.map(({ vendor, model, reason }) => ({ vendor, model, reason })) }
      : {}),
  };
}

export type RunCallRow = ReturnType<typeof runCallRow>;

export interface RunCall {
  readonly runId: string;
  readonly isAction: boolean;
  readonly name: string;
  readonly nano: number;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  /** Equal for equal requests; null where unknown. */
  readonly requestHash: string | null;
}

export function runCall(posting: PostingRow): RunCall {
  const { operation, served, asked, usage, amountNano, createdAtMs, runId = "", legs } = posting;
  return {
    runId,
    isAction: operation === "run",
    name: served ?? asked ?? "",
    nano: amountNano,
    startedAtMs: timesOf(posting).startedAtMs,
    endedAtMs: createdAtMs,
    inputTokens: usage === null ? 0 : usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens,
    cachedTokens: usage?.cacheReadTokens ?? 0,
    outputTokens: usage?.outputTokens ?? 0,
    requestHash: legs.findLast(({ inRun }) => inRun !== undefined)?.inRun?.requestHash ?? null,
  };
}
