// Jobs of other runners that become this process's: those of the dead, and those that wait for one.
import type { JobKind } from "../../catalog/job-kind.ts";
import type { JobsDeps } from "./deps.ts";
import { findJob, isOver, JOB, type JobRecord, putJob, type StoredJob } from "./job-record.ts";
import { type Runners, WAITING } from "./runners.ts";

const ADOPTED_AT_ONCE = 32;

export interface AdoptionsParts extends Pick<JobsDeps, "records" | "ledger" | "clock" | "onBroken"> {
  /** This process. */
  readonly self: string;
  readonly runners: Runners;
  readonly kinds: ReadonlyMap<string, JobKind>;
  isStopped(): boolean;
  /** It is this process's now. */
  run(stored: StoredJob): void;
  /** It may be this process's: that is found out, however long the store is away. */
  again(jobId: string): Promise<void>;
  /** It is not that runner's any more. */
  forget(jobId: string, job: JobRecord | null, runner: string): Promise<void>;
}

export class Adoptions {
  readonly #parts: AdoptionsParts;
  /** Those that are under way. */
  readonly #taking = new Set<string>();
  /** Those that the store has not answered: they may have been written. */
  readonly #unsure = new Set<string>();
  /** What has a dead runner and could not be adopted, and since when, on `clock.elapsedMs()`. */
  readonly #stranded = new Map<string, number>();
  #count = 0;

  constructor(parts: AdoptionsParts) {
    this.#parts = parts;
  }

  /** Of jobs whose runner has died, since the start. */
  get count(): number {
    return this.#count;
  }

  /** Since when each job has been stranded that has a dead runner and could not be adopted, on `clock.elapsedMs()`. */
  get strandedMs(): readonly number[] {
    return [...this.#stranded.values()];
  }

  /** It may be this process's by now. */
  isUnsure(jobId: string): boolean {
    return this.#unsure.has(jobId) || this.#taking.has(jobId);
  }

  /** What dead runners have left, and what waits for one. */
  async adoptDead(): Promise<void> {
    const { runners, clock, onBroken, isStopped } = this.#parts;
    const found = new Set<string>();
    for await (const { runner, jobIds } of runners.dead()) {
      for (const id of jobIds) found.add(id);
      for (let at = 0; at < jobIds.length && !isStopped(); at += ADOPTED_AT_ONCE) {
        const some = jobIds.slice(at, at + ADOPTED_AT_ONCE);
        await Promise.all(
          some.map((id) =>
            this.adopt(id, runner)
              .then(() => this.#stranded.delete(id))
              .catch((error: unknown) => {
                if (!this.#stranded.has(id)) this.#stranded.set(id, clock.elapsedMs());
                onBroken(error, id);
              }),
          ),
        );
      }
    }
    // Another process has them now.
    for (const id of this.#stranded.keys()) if (!found.has(id)) this.#stranded.delete(id);
  }

  /** A job of this runner's. Once at a time: the loser of two would take it out of the list of those that are run here. */
  async adopt(jobId: string, runner: string): Promise<void> {
    if (this.#unsure.has(jobId) || this.#taking.has(jobId)) return;
    this.#taking.add(jobId);
    try {
      await this.#adopt(jobId, runner);
    } finally {
      this.#taking.delete(jobId);
    }
  }

  /** A launch that died: its caller was not told of it, so it has never begun. */
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
    // It is about to be left, or another process has taken it and will take it out of the list.
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
