// What running jobs needs of the rest of the gateway.
import type { Clock } from "../clock.ts";
import type { CountedCalls, OuterCall } from "../kernel/inner-call.ts";
import type { Ledger } from "../ledger/model/ledger.ts";
import type { UnpaidCosts } from "../limits/unpaid-costs.ts";
import type { Records } from "../records/records.ts";
import type { JobRecord } from "./job-record.ts";

export interface JobsDeps {
  readonly ledger: Pick<Ledger, "reserve" | "post" | "void" | "renew" | "extend" | "standing" | "transaction">;
  /** What jobs that are free cost us; absent: it is not counted. */
  readonly unpaid?: Pick<UnpaidCosts, "note">;
  readonly records: Records;
  readonly clock: Clock;
  /** How long a kept hold lives without being renewed, in milliseconds. */
  readonly holdLeaseMs: number;
  /** Calls of actions within a job. */
  innerCalls(outer: OuterCall): CountedCalls;
  onBroken(error: unknown, jobId: string): void;
  /** The record of a job that runs here has been written. */
  onWritten(job: JobRecord): void;
}
