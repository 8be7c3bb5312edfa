// What running jobs needs of the rest of the gateway.
import type { Clock } from "../../core/clock.ts";
import type { CountedCalls, OuterCall } from "../../kernel/inner-call.ts";
import type { CallWindows } from "../../kernel/windows.ts";
import type { Ledger } from "../../money/ledger/model/ledger.ts";
import type { Observer } from "../../platform/observe/observer.ts";
import type { Records } from "../../platform/records/records.ts";
import type { CostRooms } from "./cost-room.ts";
import type { JobRecord } from "./job-record.ts";

export interface JobsDeps {
  readonly ledger: Pick<Ledger, "reserve" | "post" | "void" | "renew" | "extend" | "standing" | "transaction">;
  /** What holds after a job's first bring to be counted in. */
  readonly windows: CallWindows;
  readonly observer: Pick<Observer, "unpaid">;
  readonly records: Records;
  readonly clock: Clock;
  /** How long a kept hold lives without being renewed, in milliseconds. */
  readonly holdLeaseMs: number;
  /** Calls of actions within a job. */
  innerCalls(outer: OuterCall): CountedCalls;
  /** What the running jobs of each account may cost us beyond their holds. */
  readonly costRooms: CostRooms;
  onBroken(error: unknown, jobId: string): void;
  /** A job that ran here is over; left out: it is not told. */
  onEnded?(job: JobRecord): void;
  /**
   * Keeps that a job is over, before this process forgets that it ran it: it may be asked again, by another process too. Left out: it is
   * kept nowhere.
   */
  keepEnd?(job: JobRecord): Promise<void>;
  /** The record of a job that runs here has been written. */
  onWritten(job: JobRecord): void;
}
