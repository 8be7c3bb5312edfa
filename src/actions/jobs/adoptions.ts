// Adopts other runners' jobs: those of dead processes, and those that wait for a runner.
import type { JobKind } from "../../catalog/job-kind.ts";
import { inChunks } from "../../core/chunks.ts";
import type { JobsDeps } from "./deps.ts";
import { findJob, isOver, JOB, type JobRecord, putJob, type StoredJob } from "./job-record.ts";
import { type Runners, WAITING } from "./runners.ts";

const ADOPTED_AT_ONCE = 32;

export interface AdoptionsParts extends Pick<JobsDeps, "records" | "ledger" | "clock" | "onBroken"> {
  readonly self: string;
  readonly runners: Runners;
  readonly kinds: ReadonlyMap<string, JobKind>;
  isStopped(): boolean;
  /** Called with a job that this process now owns. */
  run(stored: StoredJob): void;
  /** Finds out whether this process owns the job; retries for as long as the store is away. */
  again(jobId: string): Promise<void>;
  /** Called where the job no longer belongs to that runner. */
  forget(jobId: string, job: JobRecord | null, runner: string): Promise<void>;
}

export class Adoptions {
  readonly #parts: AdoptionsParts;
  readonly #taking = new Set<string>();
  /** Adoptions whose write got no answer from the store, so that it may have succeeded. */
  readonly #unsure = new Set<string>();
  /** Jobs of dead runners that could not be adopted, with the time of the first failure on `clock.elapsedMs()`. */
  readonly #stranded = new Map<string, number>();
  #count = 0;

  constructor(parts: AdoptionsParts) {
    this.#parts = parts;
  }

  /** The number of jobs adopted from dead runners since the start. */
  get count(): number {
    return this.#count;
  }

  /** When the first adoption of each stranded job failed, on `clock.elapsedMs()`. */
  get strandedMs(): readonly number[] {
    return [...this.#stranded.values()];
  }

  /** Whether this process may own the job by now. */
  isUnsure(jobId: string): boolean {
    return this.#unsure.has(jobId) || this.#taking.has(jobId);
  }

  /** Adopts the jobs of dead runners, and those that wait for one. */
  async adoptDead(): Promise<void> {
    const { runners, clock, onBroken, isStopped } = this.#parts;
    const found = new Set<string>();
    for await (const { runner, jobIds } of runners.dead()) {
      for (const id of jobIds) found.add(id);
      await inChunks(jobIds, ADOPTED_AT_ONCE, async (id) => {
        if (isStopped()) return;
        try {
          await this.adopt(id, runner);
          this.#stranded.delete(id);
        } catch (error) {
          if (!this.#stranded.has(id)) this.#stranded.set(id, clock.elapsedMs());
          onBroken(error, id);
        }
      });
    }
    // Another process has adopted the others.
    for (const id of this.#stranded.keys()) if (!found.has(id)) this.#stranded.delete(id);
  }

  /** Adopts one of this runner's jobs. Never twice at a time: the loser would remove the job from the list of those that run here. */
  async adopt(jobId: string, runner: string): Promise<void> {
    if (this.#unsure.has(jobId) || this.#taking.has(jobId)) return;
    this.#taking.add(jobId);
    try {
      await this.#adopt(jobId, runner);
    } finally {
      this.#taking.delete(jobId);
    }
  }

  /** Drops a launch whose process died: its caller got no answer, so the job has not begun. */
  async #drop({ id, kind, hold, runner }: JobRecord): Promise<void> {
    const { records, ledger, kinds, runners } = this.#parts;
    await ledger.void(hold, "its launch died");
    await kinds.get(kind)?.abandon?.(id);
    await records.delete(JOB, id);
    await runners.remove(id, runner);
  }

  async #adopt(id: string, runner: string): Promise<void> {
    const { records, self, kinds, runners, run, again, forget } = this.#parts;
    const stored = await findJob(records, id);
    const isWaiting = runner === WAITING;
    // Its runner is about to leave it, or another process has adopted it and will take it off the list.
    if (isWaiting && stored !== null && !isOver(stored.job) && stored.job.runner !== WAITING) return;
    if (stored === null || isOver(stored.job) || stored.job.runner !== runner)
      return forget(id, stored?.job ?? null, runner);
    const { job, version } = stored;
    if (job.state === "launching") return this.#drop(job);
    if (!kinds.has(job.kind)) throw new Error(`the job ${id} is of the unknown kind ${job.kind}`);
    await runners.add(id);
    const adopted = { ...job, runner: self, ...(isWaiting ? {} : { adoptions: (job.adoptions ?? 0) + 1 }) };
    const adoptedVersion = await putJob(records, adopted, version).catch((error: unknown) => {
      this.#unsure.add(id);
      void again(id).finally(() => this.#unsure.delete(id));
      throw error;
    });
    if (adoptedVersion === null) return runners.remove(id);
    await runners.remove(id, runner);
    if (!isWaiting) this.#count += 1;
    run({ job: adopted, version: adoptedVersion });
  }
}
