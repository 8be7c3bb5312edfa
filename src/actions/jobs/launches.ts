// Launches a job: its record is written before its hold is placed, so that a crash in between leaves nothing that cannot be found.
import type { JobKind } from "../../catalog/job-kind.ts";
import { GatewayError } from "../../core/errors.ts";
import { ZERO } from "../../core/money.ts";
import type { Held, KeptHoldSpec, Payer } from "../../core/plan.ts";
import type { HoldKeeper } from "../../kernel/deps.ts";
import type { JobsDeps } from "./deps.ts";
import { JOB, type JobRecord, putJob, type StoredJob } from "./job-record.ts";
import { type Runners, WAITING } from "./runners.ts";

const RETRY_SECONDS = 5;

export interface LaunchesParts extends Pick<JobsDeps, "records" | "clock"> {
  readonly self: string;
  readonly runners: Runners;
  readonly kinds: ReadonlyMap<string, JobKind>;
  /** Its hold is placed: it may begin, here or in a process that runs jobs. */
  readonly run: (stored: StoredJob) => void;
}

function jobIdOf({ owner }: KeptHoldSpec): string {
  return owner.slice("job:".length);
}

function accountIdOf({ id }: Payer): string {
  if (!id.startsWith("acct:")) throw new Error("only an account's work can outlive its request");
  return id.slice("acct:".length);
}

export class Launches implements HoldKeeper {
  readonly #parts: LaunchesParts;
  /** Jobs whose hold is being placed, with their stored record. */
  readonly #launching = new Map<string, StoredJob>();
  /** Failed launches that may have left something behind, by job. */
  readonly #undone = new Map<string, KeptHoldSpec>();

  constructor(parts: LaunchesParts) {
    this.#parts = parts;
  }

  async announce(holdId: string, hold: KeptHoldSpec, payer: Payer): Promise<GatewayError | null> {
    const { records, runners, self, clock } = this.#parts;
    if (!(await runners.someWork())) return new GatewayError("jobs_unavailable", { retryAfterSeconds: RETRY_SECONDS });
    const id = jobIdOf(hold);
    const job: JobRecord = {
      id,
      kind: hold.job,
      action: hold.action,
      state: "launching",
      hold: { accountId: accountIdOf(payer), holdId },
      amountNano: ZERO,
      payer: { id: payer.id, sandbox: payer.sandbox, ...(payer.runId === undefined ? {} : { runId: payer.runId }) },
      start: hold.start,
      tags: hold.tags ?? [],
      sandboxFault: hold.sandboxFault,
      progress: null,
      spentNano: ZERO,
      legs: [],
      runner: self,
      createdAtMs: Math.floor(clock.epochMs()),
      end: null,
      chargedCents: 0,
      ...(hold.callerTraceId === undefined ? {} : { callerTraceId: hold.callerTraceId }),
      ...(hold.chain === undefined ? {} : { chain: hold.chain }),
    };
    // List it first: a job that cannot be found would keep its money until the hold's lease ends.
    await runners.add(id);
    const version = await putJob(records, job, 0);
    if (version === null) throw new Error(`there is a job ${id} already`);
    this.#launching.set(id, { job, version });
    return null;
  }

  async dismiss(_holdId: string, hold: KeptHoldSpec): Promise<void> {
    const { records, runners, kinds } = this.#parts;
    const id = jobIdOf(hold);
    this.#launching.delete(id);
    this.#undone.set(id, hold);
    await kinds.get(hold.job)?.abandon?.(id);
    await records.delete(JOB, id);
    await runners.remove(id);
    this.#undone.delete(id);
  }

  /** Whether its launch may still fail: until it is taken over or dismissed. */
  isLaunching(jobId: string): boolean {
    return this.#launching.has(jobId);
  }

  /** Repeats dismissals that failed. Rejects where the store is still away. */
  async undo(): Promise<void> {
    for (const hold of this.#undone.values()) await this.dismiss("", hold);
  }

  async takeOver({ amountNano }: Held, hold: KeptHoldSpec): Promise<void> {
    const id = jobIdOf(hold);
    const launching = this.#launching.get(id);
    if (launching === undefined) throw new Error(`no process has announced the job ${id}`);
    const job: JobRecord = { ...launching.job, state: "queued", amountNano };
    const version = await putJob(this.#parts.records, job, launching.version);
    this.#launching.delete(id);
    // This process was cut off from the store for so long that others took it for dead. A caller who retries launches anew.
    if (version === null) throw new GatewayError("ledger_unavailable", { retryAfterSeconds: RETRY_SECONDS });
    this.#parts.run({ job, version });
  }

  /** Leaves a confirmed launch to a process that runs jobs. Rejects where the store is away; the job stays ours until a retry succeeds. */
  async leave({ job, version }: StoredJob): Promise<void> {
    const { records, runners } = this.#parts;
    // Keep it in both lists at first, so that it is found even if this process dies between two steps.
    await runners.add(job.id, WAITING);
    await putJob(records, { ...job, runner: WAITING }, version);
    await runners.remove(job.id);
  }
}
