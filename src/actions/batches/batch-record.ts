// What is stored of a batch: what its launch passes to its job, and how far it has come.
import type { NotHeld } from "../../catalog/job-kind.ts";
import type { PostedLeg } from "../../core/account-rows.ts";
import type { Nano } from "../../core/money.ts";
import type { TokenUsage } from "../../core/route.ts";
import type { VendorState } from "../../upstream/batch-formats.ts";
import type { Segment } from "../files/batch-files.ts";
import type { BatchMode } from "./line-calls.ts";

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
  /** How its creator wants it to run; absent: natively where a provider can run all lines. */
  readonly mode?: BatchMode;
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
export type StopReason = NotHeld | "max_cost" | "cancelled" | "expired" | "unanswered";

/** One batch at the provider. */
export interface VendorBatch {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly lines: number;
  readonly bytes: number;
  readonly input: readonly Segment[];
  /** The uploaded input; null: not uploaded, or there is none. */
  readonly fileId: string | null;
  /** When it may first have been created; null: not yet. */
  readonly sentAtMs: number | null;
  /** Null: not created, or its id got lost. */
  readonly id: string | null;
  /** Whether the id is certainly that of our batch. */
  readonly isSure: boolean;
  /** Batches that were taken for this one. */
  readonly foreign: readonly string[];
  /** How it ended, and where its answers are; null: it runs. */
  readonly end: Pick<VendorState, "status" | "message" | "outputs" | "answers"> | null;
}

/** How far a batch has come at a provider that runs its lines. */
export interface NativeProgress {
  readonly vendor: string;
  /** The price, in percent of the usual one. */
  readonly percent: number;
  readonly keyName: string | null;
  /** The money is held for the lines before this one, and what they can cost. */
  readonly heldTo: number;
  readonly heldNano: Nano;
  /** Why no more is held. */
  readonly stop: NotHeld | "max_cost" | null;
  /** The lines' models: the provider's names, and how each was sold when the batch was written. Custom ids contain their places. */
  readonly models: readonly { readonly name: string; readonly sold: string }[];
  /** Null: not written yet. */
  readonly batches: readonly VendorBatch[] | null;
  /** Counts the looks at the provider. */
  readonly looks: number;
  /** The provider's answers, and the place of each; null: not all are here. */
  readonly answers: { readonly segments: readonly Segment[]; readonly places: Segment } | null;
}

/** Lines that run together. Where the gateway calls them, they share one hold and one posting; otherwise all lines do. */
export interface Part {
  readonly from: number;
  readonly to: number;
  /** What is held for them, or for all lines. */
  readonly boundNano: Nano;
  /** What the batch had paid before: if it has paid more by now, the part is posted. */
  readonly paidBeforeNano: Nano;
  /** The lines of the part with a stored result. */
  readonly done: readonly number[];
  /** What is to be posted, of earlier parts too where all lines share one posting. */
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
  /** Null: the gateway calls the lines. Absent in batches of earlier releases. */
  readonly native?: NativeProgress | null;
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
  readonly errors: readonly { readonly code: string; readonly message: string; readonly param?: string }[];
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

/** How the batch runs; null: not decided before its lines are read. */
export function modeOf({ mode }: BatchStart, progress: BatchProgress | null): BatchMode | null {
  if (progress === null || progress.state === "validating") return mode ?? null;
  return progress.native == null ? "inline" : "native";
}

/** The field that names a batch's mode. */
export function modeField(wire: BatchWire): string {
  return wire === "messages" ? "tollgate_mode" : "metadata.tollgate_mode";
}
