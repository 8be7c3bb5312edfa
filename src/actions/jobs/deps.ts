// What jobs need from the rest of the gateway.
import type { Clock } from "../../core/clock.ts";
import type { CountedCalls, OuterCall } from "../../kernel/inner-call.ts";
import type { CallWindows } from "../../kernel/windows.ts";
import type { Ledger } from "../../money/ledger/model/ledger.ts";
import type { Observer } from "../../platform/observe/observer.ts";
import type { Records } from "../../platform/records/records.ts";
import type { CostRooms } from "./cost-room.ts";
import type { JobRecord } from "./job-record.ts";

export interface JobsDeps {
  readonly ledger: Pick<Ledger, "keys" | "reserve" | "post" | "void" | "renew" | "extend" | "standing" | "transaction">;
  /** The windows that a job's later holds count in. */
  readonly windows: CallWindows;
  readonly observer: Pick<Observer, "unpaid">;
  readonly records: Records;
  readonly clock: Clock;
  /** How long a kept hold lives without renewal, in milliseconds. */
  readonly holdLeaseMs: number;
  innerCalls(outer: OuterCall): CountedCalls;
  /** What each account's running jobs may cost us beyond their holds. */
  readonly costRooms: CostRooms;
  onBroken(error: unknown, jobId: string): void;
  /** Called when a charge of this run's work passed a mark. Absent: no rules follow. */
  passedMark?(accountId: string, runId: string): void;
  onEnded?(job: JobRecord): void;
  /** Records that a job is over before this process forgets it. May be called repeatedly, by any process. Absent: not recorded. */
  keepEnd?(job: JobRecord): Promise<void>;
  /** Called after each write of a job that runs here. */
  onWritten(job: JobRecord): void;
}
