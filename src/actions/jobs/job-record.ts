// The stored state of a job: everything another process needs to continue it.

import type { JobEnd, Served } from "../../catalog/job-kind.ts";
import type { Nano } from "../../core/money.ts";
import type { HoldChain, Payer } from "../../core/plan.ts";
import type { Leg } from "../../core/route.ts";
import type { PutRecord, Records } from "../../platform/records/records.ts";

export const JOB = "job";
/** Longer than a launch takes to be answered or abandoned. */
const LAUNCHING_MS = 3_600_000;
const RESULT_MS = 7 * 24 * 3_600_000;

/** `launching`: the hold is being placed. `ending`: the end is decided, but not paid yet. */
export type JobState = "launching" | "queued" | "running" | "ending" | "succeeded" | "failed";

export interface JobRecord {
  readonly id: string;
  readonly kind: string;
  /** The action that launched it; absent in jobs of earlier releases. */
  readonly action?: string;
  readonly state: JobState;
  readonly hold: { readonly accountId: string; readonly holdId: string };
  readonly amountNano: Nano;
  readonly payer: Payer;
  readonly start: unknown;
  /** The caller's tags; absent in jobs of earlier releases. */
  readonly tags?: readonly string[];
  /** The fault that a sandbox account wants simulated. */
  readonly sandboxFault: string | null;
  /** The trace that the launching caller started; absent where it sent none. */
  readonly callerTraceId?: string;
  readonly progress: unknown;
  readonly spentNano: Nano;
  readonly legs: readonly Leg[];
  readonly runner: string;
  readonly createdAtMs: number;
  /** When it last progressed; absent before its start and in jobs of earlier releases. */
  readonly movedAtMs?: number;
  /** Adoptions since it last progressed; absent: none. */
  readonly adoptions?: number;
  readonly end: JobEnd | null;
  readonly chargedCents: number;
  /** How to place further holds; absent where it has only one. */
  readonly chain?: HoldChain;
  /** The holds charged so far; `chargedCents` includes them. Absent: none. */
  readonly posted?: { readonly holds: number; readonly nano: Nano };
  /** When the current hold was placed; absent: with the job. */
  readonly heldSinceMs?: number;
  /** A move to the next hold that is in progress. */
  readonly succeeding?: Succession | null;
  /** True: no further hold could be placed, or its hold ended without it. */
  readonly isUnheld?: boolean;
}

export function isOver({ state }: JobRecord): boolean {
  return state === "succeeded" || state === "failed";
}

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

export async function findJob(records: Records, id: string): Promise<StoredJob | null> {
  const found = await records.get(JOB, id);
  return found === null ? null : { job: JSON.parse(found.value) as JobRecord, version: found.version };
}

/** How long a record in this state lives after its last write; null: forever. */
function ttlMs({ state, end }: JobRecord): number | null {
  if (state === "launching") return LAUNCHING_MS;
  return state === "succeeded" || state === "failed" ? (end?.keptMs ?? RESULT_MS) : null;
}

/** Writes a job if its version still matches (0: not stored yet). Returns the new version, or null where it does not match. */
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
