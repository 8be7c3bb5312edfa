// Launches: the record of a job is there before its hold is, so that whatever dies meanwhile leaves nothing that cannot be found.
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
  /** This process. */
  readonly self: string;
  readonly runners: Runners;
  readonly kinds: ReadonlyMap<string, JobKind>;
  /** Its hold is placed: it may begin, here or where jobs are run. */
  readonly run: (stored: StoredJob) => void;
}

/** The job that a kept hold belongs to. */
function jobIdOf({ owner }: KeptHoldSpec): string {
  return owner.slice("job:".length);
}

function accountIdOf({ id }: Payer): string {
  if (!id.startsWith("acct:")) throw new Error("only an account's work can outlive its request");
  return id.slice("acct:".length);
}

export class Launches implements HoldKeeper {
  readonly #parts: LaunchesParts;
  /** Those that are being placed, by job: what their record says. */
  readonly #launching = new Map<string, StoredJob>();
  /** Those that came to nothing, and of which something may be left, by job. */
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
      payer: { id: payer.id, sandbox: payer.sandbox },
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
    // The list comes first: a job that cannot be found would keep its money until the lease of its hold ends.
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

  /** Whether its caller may still be told that it came to nothing: until it has been taken over, or dismissed. */
  isLaunching(jobId: string): boolean {
    return this.#launching.has(jobId);
  }

  /** Dismisses what could not be dismissed. Rejects where the store is still away. */
  async undo(): Promise<void> {
    for (const hold of this.#undone.values()) await this.dismiss("", hold);
  }

  async takeOver({ amountNano }: Held, hold: KeptHoldSpec): Promise<void> {
    const id = jobIdOf(hold);
    const launching = this.#launching.get(id);
    if (launching === undefined) throw new Error(`nobody has announced the job ${id}`);
    const job: JobRecord = { ...launching.job, state: "queued", amountNano };
    const version = await putJob(this.#parts.records, job, launching.version);
    this.#launching.delete(id);
    // Cut off from the store for so long that others took this process for dead: a caller who asks again launches anew.
    if (version === null) throw new GatewayError("ledger_unavailable", { retryAfterSeconds: RETRY_SECONDS });
    this.#parts.run({ job, version });
  }

  /**
   * Leaves a job to a process that runs jobs. Only what was answered for is left: a write of which it is not known whether it counted may
   * be undone here, and must not be run elsewhere. Rejects where the store is away; it is this process's until that was tried again.
   */
  async leave({ job, version }: StoredJob): Promise<void> {
    const { records, runners } = this.#parts;
    // In both lists at first: it is found in either, whichever of these steps is the last of this process.
    await runners.add(job.id, WAITING);
    await putJob(records, { ...job, runner: WAITING }, version);
    await runners.remove(job.id);
  }
}
