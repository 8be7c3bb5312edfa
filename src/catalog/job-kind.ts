// Defines a kind of long-running job: how it runs from its saved progress until it ends or its process dies.

import type { PostedLeg } from "../core/account-rows.ts";
import type { Nano } from "../core/money.ts";
import type { Payer } from "../core/plan.ts";
import type { TokenUsage } from "../core/route.ts";
import type { InnerCalls, InnerModels, LocalCall } from "./local-action.ts";

/** How a job ends. A job that failed by its own fault is not charged. */
export interface JobEnd {
  readonly status: "succeeded" | "failed";
  readonly result: unknown;
  /** The names of the result's row arrays, in order, which can be fetched as `rows`. Stored beside the record (job-rows.ts). */
  readonly rows?: readonly string[];
  readonly chargeNano: Nano;
  /** The provider that served the job and our cost, if it was not an action call. */
  readonly served?: Served;
  /** Its key or account may not pay any more: the job failed, and is charged for the work done until then. */
  readonly stopped?: Stopped;
  /** The payer cancelled it: it ended with the results it had. */
  readonly cancelled?: true;
  /** How long the job's record is kept, in milliseconds. Default: seven days. */
  readonly keptMs?: number;
}

export interface Served {
  readonly provider: string;
  readonly action: string;
  readonly upstreamNano: Nano;
  /** What model calls used; absent: the job made none. */
  readonly usage?: TokenUsage;
  /** The vendors' parts, whose costs sum to `upstreamNano`; absent: they are not known apart. */
  readonly legs?: readonly PostedLeg[];
}

export type Stopped = "key_revoked" | "key_paused" | "account_frozen";

/** Why a hold could not grow, or a further hold could not be placed. */
export type NotHeld = Stopped | "no_money";

/** The reason on a job's abort signal if its payer cancelled it. */
export const CANCELLED = "cancelled";

export interface Holding {
  /** Zero if there is no hold because `succeed` could not place the next one. */
  readonly amountNano: Nano;
  /** Start of the hold, in milliseconds since the epoch. */
  readonly sinceMs: number;
  /** The total charged to the previous holds. */
  readonly postedNano: Nano;
  readonly isHeld: boolean;
}

/** The job's next step would not be paid, so it is not taken and the job ends. */
export class NoLongerPaid extends Error {
  readonly why: Stopped;

  constructor(why: Stopped) {
    super(why);
    this.why = why;
  }
}

/** Calls of a part of the job that restarts from scratch if the process dies before it ends. */
export interface JobPart extends InnerCalls, InnerModels {
  /** What its calls have spent so far, counted as the kind defines. */
  readonly spentNano: Nano;
  /** Marks it as done: the cost of its calls counts in the next `save`. Until then a repeat is at our expense. */
  end(): void;
}

/**
 * A job that runs in this process. Each call, and each piece of the job's own work, first verifies that this process still has the lease
 * and that the key and account may pay; otherwise it rejects with LeaseLost or NoLongerPaid. A runner that lost the lease stops there,
 * unpaid.
 */
export interface RunningJob
  extends InnerCalls,
    InnerModels,
    Pick<LocalCall, "id" | "payer" | "sandboxFault" | "spend"> {
  /** What the launch passed on. */
  readonly start: unknown;
  /** The progress last saved, here or in a previous process; null if none was. */
  readonly progress: unknown;
  /** Aborted when the job must end with its results so far (out of time or cancelled), or must not continue in this process. */
  readonly signal: AbortSignal;
  /** When the payer cancelled it; null if not cancelled. */
  readonly cancelledAtMs: number | null;
  readonly holding: Holding;
  /** For parts that run concurrently, each saved when it is done. */
  part(): JobPart;
  /** Saves the progress; the payer sees its `done`, `total` and `spentCents`. Rejects with LeaseLost if another process runs the job. */
  save(progress: unknown): Promise<void>;
  /** Runs work that needs a store other than the job's record: if the store is down, the job later resumes from the last saved progress. */
  stored<T>(work: () => Promise<T>): Promise<T>;
  /** Grows the hold to `amountNano` and records its use, in one ledger operation; or says why not. Never refused if it is that large. */
  extend(amountNano: Nano, accruedNano: Nano): Promise<NotHeld | null>;
  /** Charges the hold and places one in today's windows; or says why not: the job then ends. Only for `chained` launches. */
  succeed(chargeNano: Nano, nextNano: Nano, served: Served): Promise<NotHeld | null>;
}

export interface EndedJob {
  readonly payer: Payer;
  readonly progress: unknown;
  readonly end: JobEnd;
}

export interface JobKind {
  readonly name: string;
  /** After this many milliseconds its signal is aborted, and it ends with the results it has. */
  readonly msMax: number;
  /** What uses up the hold: the prices of the job's calls, or their cost to us. */
  readonly counted: "price" | "upstream_cost";
  /** The kind computes the charge: it may exceed the hold by what the account's limit for unpaid cost allows. Absent: never. */
  readonly mayCostMore?: true;
  /** A job whose hold ended without it, as after an outage, runs on without one and may place another with `succeed`. */
  readonly outlivesHold?: true;
  /** How long it may take to end once its signal is aborted, in milliseconds. Default: 30 seconds. */
  readonly graceMs?: number;
  /**
   * Runs the job to its end. A rejection ends it as failed; NoLongerPaid then charges what its calls spent, so a kind that counts
   * differently catches it and ends with its results and `stopped`. After LeaseLost, an abort of the process or a store outage, another
   * runner continues from the last saved progress.
   */
  run(job: RunningJob): Promise<JobEnd>;
  /** A launch failed, or the hold ended without the job: delete what exists elsewhere. Rejects if not even that can be recorded. */
  abandon?(jobId: string): Promise<void>;
  /**
   * The job's end is decided, paid or not: delete what it made and does not hand out with that end. Called again if a process died before
   * the job was recorded as over; no more progress is saved by then. Absent: there is nothing to delete.
   */
  clear?(job: EndedJob): Promise<void>;
}

/** Another process runs the job now: this one stops without charging. */
export class LeaseLost extends Error {}
