// What a kind of long work is: what it does from wherever its record stands, until it is over or its process ends.

import type { Nano } from "../core/money.ts";
import type { Payer } from "../core/plan.ts";
import type { InnerCalls, InnerModels } from "./local-action.ts";

/** How work ends. A job that failed by itself is charged nothing. */
export interface JobEnd {
  readonly status: "succeeded" | "failed";
  readonly result: unknown;
  /** The names of the rows of its result, in order: what is asked for as its result has them as `rows`. Kept beside the record (job-rows.ts). */
  readonly rows?: readonly string[];
  readonly chargeNano: Nano;
  /** Who is named as having served, and what that cost us, where it was no call of an action. */
  readonly served?: Served;
  /** Its key or its account may pay no more: it failed, and is charged for what it had done by then. */
  readonly stopped?: Stopped;
  /** Its payer wanted it no more: it ended with what it had. */
  readonly cancelled?: true;
}

/** What a posting says of who served. */
export interface Served {
  readonly provider: string;
  /** `<service>/<action>` */
  readonly action: string;
  readonly upstreamNano: Nano;
}

export type Stopped = "key_revoked" | "key_paused" | "account_frozen";

/** Why a hold could not be made larger, or no other placed after it. */
export type NotHeld = Stopped | "no_money";

/** The reason of a job's signal where its payer has cancelled it. */
export const CANCELLED = "cancelled";

/** The hold of a job, as it is now. */
export interface Holding {
  /** Zero: it holds nothing, since `succeed` could place no other hold. */
  readonly amountNano: Nano;
  /** Since when, in milliseconds since the epoch. */
  readonly sinceMs: number;
  /** What the holds before it were charged. */
  readonly postedNano: Nano;
}

/** The job's next step would not be paid: it is not taken, and the job ends. */
export class NoLongerPaid extends Error {
  readonly why: Stopped;

  constructor(why: Stopped) {
    super(why);
    this.why = why;
  }
}

/** Calls of a piece of work that is done again from its start where the process dies before it has ended. */
export interface JobPart extends InnerCalls, InnerModels {
  /** What its calls have spent so far, as the kind counts. */
  readonly spentNano: Nano;
  /** It is done: what its calls have cost counts in the next `save`. Before that it is our own, should it have to be done again. */
  end(): void;
}

/**
 * A job that runs in this process. Its calls, and work of its own, prove first that it still does and that its key and account may
 * pay: they reject with LeaseLost or NoLongerPaid, and a runner that has lost the lease stops there, unpaid.
 */
export interface RunningJob extends InnerCalls, InnerModels {
  readonly id: string;
  readonly payer: Payer;
  /** What the launch gave it. */
  readonly start: unknown;
  /** What was saved last, here or in the process that ran it before; null: nothing. */
  readonly progress: unknown;
  /** Aborted where it is to end with what it has: its time is over, its payer has cancelled it, or this process must not go on with it. */
  readonly signal: AbortSignal;
  /** When its payer has cancelled it; null: it is not cancelled. */
  readonly cancelledAtMs: number | null;
  readonly sandboxFault: string | null;
  readonly holding: Holding;
  readonly spend: { readonly limitNano: Nano; readonly spentNano: Nano; readonly freeNano: Nano };
  /** For pieces of work that run side by side, each saved when it is done. */
  part(): JobPart;
  /** Keeps how far it has come; what `progress` has as `done`, `total` and `spentCents` its payer may see. Rejects with LeaseLost where another process runs it by now. */
  save(progress: unknown): Promise<void>;
  /** What the job needs of a store beside its record: where that is away, the job goes on from what was saved last once it is back. */
  stored<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Grows the hold to `amountNano` and notes how much of it has been used, in one operation of the ledger; or says why not, and then
   * nothing is noted. Where it holds as much already it is never refused.
   */
  extend(amountNano: Nano, accruedNano: Nano): Promise<NotHeld | null>;
  /**
   * Charges its hold so much, and places another one after it, in the windows of today; or says why not: then it holds nothing, and is
   * to end. Only of a kind whose launches say that they are chained.
   */
  succeed(chargeNano: Nano, nextNano: Nano, served: Served): Promise<NotHeld | null>;
}

/** A job whose end is decided. */
export interface EndedJob {
  readonly payer: Payer;
  /** What was saved last. */
  readonly progress: unknown;
  readonly end: JobEnd;
}

export interface JobKind {
  readonly name: string;
  /** After so many milliseconds its signal is aborted, and it ends with what it has. */
  readonly msMax: number;
  /** What counts against the hold: the prices of its calls, or what they cost us. */
  readonly counted: "price" | "upstream_cost";
  /**
   * What is charged is counted by the kind itself: what its calls cost us may go beyond the hold, as far as its account's room for unpaid
   * cost does. Absent: never.
   */
  readonly mayCostMore?: true;
  /**
   * Runs it to its end. A rejection ends it as failed, and one with NoLongerPaid charges what its calls have spent: a kind that counts
   * otherwise catches that and ends with what it had, and with `stopped`. LeaseLost and an aborted process leave it to the runner that goes on with it, and a
   * store that was away to this process, from what was saved last.
   */
  run(job: RunningJob): Promise<JobEnd>;
  /**
   * A launch has come to nothing, or the hold of a job has ended without it: what there may be of it elsewhere is to go. Rejects where
   * that cannot even be noted; it is asked again then. Absent: there is nothing.
   */
  abandon?(jobId: string): Promise<void>;
  /**
   * Its end is decided, and paid or not: what it has made and does not give with that end is to go. Asked again where a process died
   * before the job was written as over; nothing is saved of the job any more by then. Absent: there is nothing.
   */
  clear?(job: EndedJob): Promise<void>;
}

/** Another process runs the job by now: this one stops without charging. */
export class LeaseLost extends Error {}
