// What is stored of a batch: what its launch passes to its job, and how far it has come.
import type { NotHeld } from "../../catalog/job-kind.ts";
import type { PostedLeg } from "../../core/account-rows.ts";
import type { Nano } from "../../core/money.ts";
import type { TokenUsage } from "../../core/route.ts";
import type { Segment } from "../files/batch-files.ts";

export const BATCH_JOB = "batch";
/** Lists an account's batches, newest first. */
export const BATCH = "batch";
/** Names the batches that read a file. */
export const BATCH_INPUT = "batch-input";
/** Batches are listed, and their outputs kept, for this long. */
export const KEPT_MS = 30 * 24 * 3_600_000;
export const WINDOW_MS = 24 * 3_600_000;

/** Whose wire created it: that with input files, or that with requests in the body. */
export type BatchWire = "files" | "messages";

export interface BatchStart {
  readonly wire: BatchWire;
  /** The path that its lines call, as in `/v1/chat/completions`. */
  readonly endpoint: string;
  readonly inputId: string;
  /** How many lines it has; absent: not known before they are read. */
  readonly lines?: number;
  /** The key that pays. */
  readonly keyId: string;
  /** The most that all lines may cost; null: no limit but the balance. */
  readonly maxCostNano: Nano | null;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly createdAtMs: number;
  /** How long its outputs live. */
  readonly outputMs: number;
  /** Headers of its request that apply to each line. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Why the lines that are left do not run. */
export type StopReason = NotHeld | "max_cost" | "cancelled" | "expired";

/** The lines that share one hold and one posting. */
export interface Part {
  readonly from: number;
  readonly to: number;
  readonly boundNano: Nano;
  /** What the batch had paid before: if it has paid more by now, the part is posted. */
  readonly paidBeforeNano: Nano;
  /** The lines of the part with a stored result. */
  readonly done: readonly number[];
  readonly nano: Nano;
  readonly usage: TokenUsage;
  readonly legs: readonly PostedLeg[];
}

export interface BatchProgress {
  readonly state: "validating" | "in_progress" | "finalizing";
  /** Lines with a result, and all lines. */
  readonly done: number;
  readonly total: number;
  readonly failed: number;
  /** Lines that did not run because the batch stopped. */
  readonly refused: number;
  /** The second is the name that all jobs have for it. */
  readonly spentNano: Nano;
  readonly spentCents: number;
  /** What all good lines together can cost, and how many of them the money paid for when they were read. */
  readonly boundNano: Nano;
  readonly affordable: number;
  /** The lines' index, once all have been read. */
  readonly index: Segment | null;
  /** The line after the last part. */
  readonly next: number;
  readonly part: Part | null;
  readonly usage: TokenUsage;
  readonly outputs: readonly Segment[];
  readonly errors: readonly Segment[];
  readonly stop: StopReason | null;
  /** After a stop: the lines before this one have their results. */
  readonly refusedTo: number;
  readonly inProgressAtMs: number | null;
  readonly finalizingAtMs: number | null;
}

/** How a batch ended, as its job's result. */
export interface BatchResult {
  readonly batch_id: string;
  readonly status: "completed" | "failed" | "expired" | "cancelled";
  readonly endedAtMs: number;
  readonly output_file_id: string | null;
  readonly error_file_id: string | null;
  /** Why the batch as a whole failed. */
  readonly errors: readonly { readonly code: string; readonly message: string }[];
}

const PREFIXES: Readonly<Record<BatchWire, string>> = { files: "batch_", messages: "msgbatch_" };

/** A batch and its job share their characters after the prefix. */
export function batchIdOf(jobId: string, wire: BatchWire): string {
  return PREFIXES[wire] + jobId.slice("job_".length);
}

/** Null: not the id of a batch of this wire. */
export function jobIdOfBatch(batchId: string, wire: BatchWire): string | null {
  return batchId.startsWith(PREFIXES[wire]) ? `job_${batchId.slice(PREFIXES[wire].length)}` : null;
}
