// Which processes run jobs: each says every few seconds that it lives, and the jobs of one that has stopped saying so are found.
import type { Clock } from "../../core/clock.ts";
import type { Records } from "../../platform/records/records.ts";

/** Lives as long as its process says so. */
const ALIVE = "runner";
/** Stays until the last of its jobs has been adopted. */
const KNOWN = "runner-known";
const KNOWN_LIST = "runners";
/** The runner of jobs that a process has launched which runs none: it never lives, so the processes that run jobs adopt them. */
export const WAITING = "waiting";
/** What a process says of itself that launches jobs and runs none; one that runs them says nothing. */
const SERVES = "serves";
/** One for each job of a runner that has not ended. */
const OPEN_JOB = "open-job";
const PAGE = 500;

export interface RunnersOptions {
  readonly records: Records;
  readonly clock: Clock;
  /** This process. */
  readonly self: string;
  /** How long a process counts as alive without saying so, in milliseconds, on the clock of the store. */
  readonly leaseMs: number;
  /** Other processes may be alive; false: this one is all there is. */
  readonly shared: boolean;
  /** This process runs jobs; false: it launches them, and another one runs them. */
  readonly works: boolean;
}

const listOf = (runner: string): string => `runner:${runner}`;

async function* listed(records: Pick<Records, "list">, kind: string, list: string): AsyncIterable<string> {
  let cursor: string | null = null;
  do {
    const page = await records.list(kind, list, PAGE, cursor);
    for (const { value } of page.rows) yield value;
    cursor = page.next;
  } while (cursor !== null);
}

/** Whether a gateway is alive that runs no jobs, and so does nothing else either by which it could be seen. */
export async function someServe(records: Pick<Records, "list" | "get">): Promise<boolean> {
  for await (const runner of listed(records, KNOWN, KNOWN_LIST))
    if ((await records.get(ALIVE, runner))?.value === SERVES) return true;
  return false;
}

export class Runners {
  readonly #options: RunnersOptions;
  /** When it was last known to the store that this process lives, on `clock.elapsedMs()`. */
  #beatenMs = Number.NEGATIVE_INFINITY;
  /** Another process that ran jobs when it was last looked at; null: none is known. */
  #worker: string | null = null;
  /** A look for one, which all share that ask meanwhile. */
  #looking: Promise<string | null> | null = null;

  constructor(options: RunnersOptions) {
    this.#options = options;
  }

  /** To be called before the first job, and then more than twice in a lease. */
  async beat(): Promise<void> {
    const { records, clock, self, leaseMs, works } = this.#options;
    const atMs = clock.elapsedMs();
    const value = works ? "" : SERVES;
    await records.put({ kind: ALIVE, id: self, payer: null, value, ttlMs: leaseMs, ifVersion: null });
    // A runner that took us for dead while we could not say otherwise may have forgotten us.
    await this.#know(self);
    if (!works) await this.#know(WAITING);
    this.#beatenMs = atMs;
  }

  async #know(runner: string): Promise<void> {
    const { records } = this.#options;
    await records.put({ kind: KNOWN, id: runner, payer: KNOWN_LIST, value: runner, ttlMs: null, ifVersion: null });
  }

  /** One that was only slow may have said so meanwhile, and taken on jobs that must be found if it dies. */
  async #forget(runner: string): Promise<void> {
    const { records } = this.#options;
    await records.delete(KNOWN, runner);
    if ((await records.get(ALIVE, runner)) !== null) await this.#know(runner);
  }

  /** This process runs no more jobs: the next that looks may adopt what it has left. */
  async leave(): Promise<void> {
    await this.#options.records.delete(ALIVE, this.#options.self);
  }

  /** Whether a process lives that runs jobs: this one, or another as far as the store knows. */
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
    for await (const runner of listed(this.#options.records, KNOWN, KNOWN_LIST))
      if (await this.#works(runner)) return runner;
    return null;
  }

  /** A job of this process is found by the others from now on, should it die; one that is `WAITING` at once. */
  async add(jobId: string, runner = this.#options.self): Promise<void> {
    const { records, clock, leaseMs } = this.#options;
    // A process that has been cut off may have been forgotten since, and no other would look for its jobs.
    if (clock.elapsedMs() - this.#beatenMs > leaseMs / 2) await this.beat();
    const id = `${runner}/${jobId}`;
    await records.put({ kind: OPEN_JOB, id, payer: listOf(runner), value: jobId, ttlMs: null, ifVersion: null });
  }

  async remove(jobId: string, runner = this.#options.self): Promise<void> {
    await this.#options.records.delete(OPEN_JOB, `${runner}/${jobId}`);
  }

  /** The jobs that the store knows as this process's. */
  async own(): Promise<readonly string[]> {
    const jobIds: string[] = [];
    for await (const jobId of listed(this.#options.records, OPEN_JOB, listOf(this.#options.self))) jobIds.push(jobId);
    return jobIds;
  }

  /** The runners that have died, with what they were running, and what waits for one. One that leaves nothing behind is forgotten. */
  async *dead(): AsyncIterable<{ readonly runner: string; readonly jobIds: readonly string[] }> {
    const { records, self, shared } = this.#options;
    for await (const runner of listed(this.#options.records, KNOWN, KNOWN_LIST)) {
      if (runner === self) continue;
      if (shared && (await records.get(ALIVE, runner)) !== null) continue;
      const jobIds: string[] = [];
      for await (const jobId of listed(this.#options.records, OPEN_JOB, listOf(runner))) jobIds.push(jobId);
      if (jobIds.length > 0) yield { runner, jobIds };
      else if (runner !== WAITING) await this.#forget(runner);
    }
  }

  /** The jobs of all runners, dead or alive. */
  async *all(): AsyncIterable<string> {
    for await (const runner of listed(this.#options.records, KNOWN, KNOWN_LIST))
      yield* listed(this.#options.records, OPEN_JOB, listOf(runner));
  }
}
