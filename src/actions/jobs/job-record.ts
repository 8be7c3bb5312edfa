// What is kept of a job: everything that another process needs to go on with it.

import type { JobEnd, Served } from "../../catalog/job-kind.ts";
import type { Nano } from "../../core/money.ts";
import type { HoldChain, Payer } from "../../core/plan.ts";
import type { Leg } from "../../core/route.ts";
import type { PutRecord, Records, StoredRecord } from "../../platform/records/records.ts";

export const JOB = "job";
/** Long enough for a launch to be answered or given up. */
const LAUNCHING_MS = 3_600_000;
const RESULT_MS = 7 * 24 * 3_600_000;

/** `launching`: its hold is being placed. `ending`: its end is decided and only has to be paid. */
export type JobState = "launching" | "queued" | "running" | "ending" | "succeeded" | "failed";

export interface JobRecord {
  readonly id: string;
  readonly kind: string;
  /** The action that launched it; jobs of earlier releases say nothing. */
  readonly action?: string;
  readonly state: JobState;
  /** Its hold, and whose money that is. */
  readonly hold: { readonly accountId: string; readonly holdId: string };
  readonly amountNano: Nano;
  readonly payer: Payer;
  readonly start: unknown;
  /** What its caller has called it; jobs of earlier releases say nothing. */
  readonly tags?: readonly string[];
  /** The fault that a sandbox account asks its stand-ins for. */
  readonly sandboxFault: string | null;
  /** The trace that the caller of its launch began; absent: none. */
  readonly callerTraceId?: string;
  readonly progress: unknown;
  readonly spentNano: Nano;
  readonly legs: readonly Leg[];
  /** The process that runs it. */
  readonly runner: string;
  readonly createdAtMs: number;
  /** When it last came a step further; jobs of earlier releases, and those that have not begun, say nothing. */
  readonly movedAtMs?: number;
  /** How often it was adopted since it last came a step further; absent: never. */
  readonly adoptions?: number;
  readonly end: JobEnd | null;
  readonly chargedCents: number;
  /** What holds after its first are placed with; absent: it has one. */
  readonly chain?: HoldChain;
  /** What of its holds have been charged; their cents are in `chargedCents`. Absent: none. */
  readonly posted?: { readonly holds: number; readonly nano: Nano };
  /** When its present hold was placed; absent: with the job. */
  readonly heldSinceMs?: number;
  /** Its hold is being charged so much, and another one placed. */
  readonly succeeding?: Succession | null;
  /** No other hold could be placed: it holds nothing. */
  readonly isUnheld?: true;
}

export function isOver({ state }: JobRecord): boolean {
  return state === "succeeded" || state === "failed";
}

/** From one hold to the next. */
export interface Succession {
  readonly chargeNano: Nano;
  readonly served: Served;
  readonly nextId: string;
  readonly nextNano: Nano;
}

export interface StoredJob {
  readonly job: JobRecord;
  readonly version: number;
}

function readJob(record: StoredRecord): StoredJob {
  return { job: JSON.parse(record.value) as JobRecord, version: record.version };
}

export async function findJob(records: Records, id: string): Promise<StoredJob | null> {
  const found = await records.get(JOB, id);
  return found === null ? null : readJob(found);
}

/** How long a record in this state is kept without being written again; null: until it is. */
function ttlMs({ state }: JobRecord): number | null {
  if (state === "launching") return LAUNCHING_MS;
  return state === "succeeded" || state === "failed" ? RESULT_MS : null;
}

/** Writes a job where its version is still this one (0: where there is none yet); answers the new version, null where it is not. */
export function putJob(
  records: Records,
  job: JobRecord,
  ifVersion: number,
  manner: Pick<PutRecord, "isPatient"> = {},
): Promise<number | null> {
  const { id, payer } = job;
  const value = JSON.stringify(job);
  return records.put({ kind: JOB, id, payer: payer.id, value, ttlMs: ttlMs(job), ifVersion, ...manner });
}
