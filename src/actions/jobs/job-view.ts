// Views of a job for its payer (contract 2.6) and for the operator.
import { usdText } from "../../core/money.ts";
import type { JobRecord, JobState } from "./job-record.ts";

const STATUS = {
  launching: "queued",
  queued: "queued",
  running: "running",
  ending: "running",
  succeeded: "succeeded",
  failed: "failed",
} as const satisfies Record<JobState, string>;

interface Progress {
  readonly done: number;
  readonly total: number;
}

function progressOf(saved: unknown): Progress | null {
  const { done, total } = (typeof saved === "object" && saved !== null ? saved : {}) as Partial<Progress>;
  return typeof done === "number" && typeof total === "number" ? { done, total } : null;
}

/** What a job has cost its payer so far, where its saved state contains it. */
export function spentSoFar(saved: unknown): number | null {
  const { spentCents } = (typeof saved === "object" && saved !== null ? saved : {}) as { spentCents?: unknown };
  return typeof spentCents === "number" ? spentCents : null;
}

export interface JobView {
  readonly job_id: string;
  readonly status: "queued" | "running" | "succeeded" | "failed";
  readonly progress?: Progress;
  /** Present once it is over. */
  readonly result?: unknown;
  readonly charged_cents: number;
  readonly cancelled?: true;
  /** Why it was stopped: its key or account can no longer pay. */
  readonly stopped?: string;
}

/** `cancelled`: whether its payer is known to have cancelled a running job. */
export function jobView({ id, state, progress, end, chargedCents }: JobRecord, cancelled = false): JobView {
  const made = progressOf(progress);
  const isOver = state === "succeeded" || state === "failed";
  return {
    job_id: id,
    status: STATUS[state],
    ...(made === null ? {} : { progress: made }),
    ...(isOver && end !== null && end.result !== null ? { result: end.result } : {}),
    charged_cents: chargedCents,
    ...((isOver ? end?.cancelled === true : cancelled) ? { cancelled: true as const } : {}),
    ...(end?.stopped === undefined ? {} : { stopped: end.stopped }),
  };
}

/** One row of `tollgate jobs`. */
export interface JobRow {
  readonly job_id: string;
  readonly kind: string;
  readonly status: string;
  readonly account_id: string;
  readonly account_name?: string | null;
  readonly runner: string;
  readonly age_seconds: number;
  /** Since it last progressed, or began. */
  readonly still_seconds: number;
  readonly done: number | null;
  readonly total: number | null;
  readonly held_usd: string;
  readonly spent_usd: string;
  readonly sandbox: boolean;
}

export function jobRow(job: JobRecord, nowMs: number): JobRow {
  const { done, total } = progressOf(job.progress) ?? { done: null, total: null };
  const seconds = (fromMs: number) => Math.max(0, Math.round((nowMs - fromMs) / 1_000));
  return {
    job_id: job.id,
    kind: job.kind,
    status: STATUS[job.state],
    account_id: job.hold.accountId,
    runner: job.runner,
    age_seconds: seconds(job.createdAtMs),
    still_seconds: seconds(job.movedAtMs ?? job.createdAtMs),
    done,
    total,
    held_usd: usdText(job.amountNano),
    spent_usd: usdText(job.spentNano),
    sandbox: job.payer.sandbox,
  };
}
