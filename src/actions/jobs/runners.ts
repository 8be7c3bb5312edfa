// Tracks the processes that run jobs: each sends a heartbeat every few seconds, and others find the jobs of one that stopped.
import type { Clock } from "../../core/clock.ts";
import type { Records } from "../../platform/records/records.ts";
import { walk } from "../../platform/records/walk.ts";

/** Expires unless the process renews it. */
const ALIVE = "runner";
/** Stays until the last of the process's jobs has been adopted. */
const KNOWN = "runner-known";
const KNOWN_LIST = "runners";
/** The runner of jobs that were launched by a process that runs none. It is never alive, so processes that run jobs adopt them. */
export const WAITING = "waiting";
/** The ALIVE value of a process that launches jobs but runs none; a process that runs them writes an empty value. */
const SERVES = "serves";
/** One record for each unfinished job of a runner. */
const OPEN_JOB = "open-job";

export interface RunnersOptions {
  readonly records: Records;
  readonly clock: Clock;
  readonly self: string;
  /** How long a process counts as alive without a heartbeat, in milliseconds on the store's clock. */
  readonly leaseMs: number;
  /** Other processes may be alive; false: this is the only one. */
  readonly shared: boolean;
  /** This process runs jobs; false: it only launches them. */
  readonly works: boolean;
}

const listOf = (runner: string): string => `runner:${runner}`;

/** Whether a gateway that runs no jobs is alive, which nothing else would show. */
export async function someServe(records: Pick<Records, "list" | "get">): Promise<boolean> {
  for await (const { value: runner } of walk(records, KNOWN, KNOWN_LIST))
    if ((await records.get(ALIVE, runner))?.value === SERVES) return true;
  return false;
}

export class Runners {
  readonly #options: RunnersOptions;
  /** The time of the last acknowledged heartbeat, on `clock.elapsedMs()`. */
  #beatenMs = Number.NEGATIVE_INFINITY;
  /** Another process that ran jobs at the last check; null: none known. */
  #worker: string | null = null;
  /** A search for one in progress, shared by concurrent callers. */
  #looking: Promise<string | null> | null = null;

  constructor(options: RunnersOptions) {
    this.#options = options;
  }

  /** Call before the first job, then more than twice per lease. */
  async beat(): Promise<void> {
    const { records, clock, self, leaseMs, works } = this.#options;
    const atMs = clock.elapsedMs();
    const value = works ? "" : SERVES;
    await records.put({ kind: ALIVE, id: self, payer: null, value, ttlMs: leaseMs, ifVersion: null });
    // A runner that took this process for dead may have removed it from the list.
    await this.#know(self);
    if (!works) await this.#know(WAITING);
    this.#beatenMs = atMs;
  }

  async #know(runner: string): Promise<void> {
    const { records } = this.#options;
    await records.put({ kind: KNOWN, id: runner, payer: KNOWN_LIST, value: runner, ttlMs: null, ifVersion: null });
  }

  /** Removes a dead runner. One that was only slow may have come back and taken jobs, so it is added again. */
  async #forget(runner: string): Promise<void> {
    const { records } = this.#options;
    await records.delete(KNOWN, runner);
    if ((await records.get(ALIVE, runner)) !== null) await this.#know(runner);
  }

  /** This process runs no more jobs: others may adopt its jobs at once. */
  async leave(): Promise<void> {
    await this.#options.records.delete(ALIVE, this.#options.self);
  }

  /** Whether any process that runs jobs is alive: this one, or another according to the store. */
  async someWork(): Promise<boolean> {
    if (this.#options.works || (this.#worker !== null && (await this.#works(this.#worker)))) return true;
    this.#looking ??= this.#findWorker().finally(() => {
      this.#looking = null;
    });
    this.#worker = await this.#looking;
    return this.#worker !== null;
  }

  async #works(runner: string): Promise<boolean> {
    return (await this.#options.records.get(ALIVE, runner))?.value === "";
  }

  async #findWorker(): Promise<string | null> {
    for await (const { value: runner } of walk(this.#options.records, KNOWN, KNOWN_LIST))
      if (await this.#works(runner)) return runner;
    return null;
  }

  /** Lists a job, so that others find it if this process dies; one that is `WAITING` is adopted at once. */
  async add(jobId: string, runner = this.#options.self): Promise<void> {
    const { records, clock, leaseMs } = this.#options;
    // Others may have forgotten a process that was cut off, and would then not look for its jobs.
    if (clock.elapsedMs() - this.#beatenMs > leaseMs / 2) await this.beat();
    const id = `${runner}/${jobId}`;
    await records.put({ kind: OPEN_JOB, id, payer: listOf(runner), value: jobId, ttlMs: null, ifVersion: null });
  }

  async remove(jobId: string, runner = this.#options.self): Promise<void> {
    await this.#options.records.delete(OPEN_JOB, `${runner}/${jobId}`);
  }

  /** A runner's jobs, according to the store. */
  async #jobsOf(runner: string): Promise<readonly string[]> {
    const jobIds: string[] = [];
    for await (const { value } of walk(this.#options.records, OPEN_JOB, listOf(runner))) jobIds.push(value);
    return jobIds;
  }

  /** This process's jobs, according to the store. */
  own(): Promise<readonly string[]> {
    return this.#jobsOf(this.#options.self);
  }

  /** Dead runners with their jobs, and the jobs that wait for a runner. Forgets dead runners without jobs. */
  async *dead(): AsyncIterable<{ readonly runner: string; readonly jobIds: readonly string[] }> {
    const { records, self, shared } = this.#options;
    for await (const { value: runner } of walk(this.#options.records, KNOWN, KNOWN_LIST)) {
      if (runner === self) continue;
      if (shared && (await records.get(ALIVE, runner)) !== null) continue;
      const jobIds = await this.#jobsOf(runner);
      if (jobIds.length > 0) yield { runner, jobIds };
      else if (runner !== WAITING) await this.#forget(runner);
    }
  }

  /** The jobs of all runners, dead or alive. */
  async *all(): AsyncIterable<string> {
    for await (const { value: runner } of walk(this.#options.records, KNOWN, KNOWN_LIST))
      yield* await this.#jobsOf(runner);
  }
}
