// Which processes run jobs: each says every few seconds that it lives, and the jobs of one that has stopped saying so are found.
import type { Clock } from "../clock.ts";
import type { Records } from "../records/records.ts";

/** Lives as long as its process says so. */
const ALIVE = "runner";
/** Stays until the last of its jobs has been adopted. */
const KNOWN = "runner-known";
const KNOWN_LIST = "runners";
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
}

const listOf = (runner: string): string => `runner:${runner}`;

export class Runners {
  readonly #options: RunnersOptions;
  /** When it was last known to the store that this process lives, on `clock.elapsedMs()`. */
  #beatenMs = Number.NEGATIVE_INFINITY;

  constructor(options: RunnersOptions) {
    this.#options = options;
  }

  /** To be called before the first job, and then more than twice in a lease. */
  async beat(): Promise<void> {
    const { records, clock, self, leaseMs } = this.#options;
    const atMs = clock.elapsedMs();
    await records.put({ kind: ALIVE, id: self, payer: null, value: "", ttlMs: leaseMs, ifVersion: null });
    // A runner that took us for dead while we could not say otherwise may have forgotten us.
    await this.#know(self);
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

  /** A job of this process is found by the others from now on, should it die. */
  async add(jobId: string): Promise<void> {
    const { records, clock, self, leaseMs } = this.#options;
    // A process that has been cut off may have been forgotten since, and no other would look for its jobs.
    if (clock.elapsedMs() - this.#beatenMs > leaseMs / 2) await this.beat();
    const id = `${self}/${jobId}`;
    await records.put({ kind: OPEN_JOB, id, payer: listOf(self), value: jobId, ttlMs: null, ifVersion: null });
  }

  async remove(jobId: string, runner = this.#options.self): Promise<void> {
    await this.#options.records.delete(OPEN_JOB, `${runner}/${jobId}`);
  }

  /** The jobs that the store knows as this process's. */
  async own(): Promise<readonly string[]> {
    const jobIds: string[] = [];
    for await (const jobId of this.#all(OPEN_JOB, listOf(this.#options.self))) jobIds.push(jobId);
    return jobIds;
  }

  /** The runners that have died, with what they were running. One that leaves nothing behind is forgotten. */
  async *dead(): AsyncIterable<{ readonly runner: string; readonly jobIds: readonly string[] }> {
    const { records, self, shared } = this.#options;
    for await (const runner of this.#all(KNOWN, KNOWN_LIST)) {
      if (runner === self) continue;
      if (shared && (await records.get(ALIVE, runner)) !== null) continue;
      const jobIds: string[] = [];
      for await (const jobId of this.#all(OPEN_JOB, listOf(runner))) jobIds.push(jobId);
      if (jobIds.length === 0) await this.#forget(runner);
      else yield { runner, jobIds };
    }
  }

  /** The jobs of all runners, dead or alive. */
  async *all(): AsyncIterable<string> {
    for await (const runner of this.#all(KNOWN, KNOWN_LIST)) yield* this.#all(OPEN_JOB, listOf(runner));
  }

  async *#all(kind: string, list: string): AsyncIterable<string> {
    let cursor: string | null = null;
    do {
      const page = await this.#options.records.list(kind, list, PAGE, cursor);
      for (const { value } of page.rows) yield value;
      cursor = page.next;
    } while (cursor !== null);
  }
}
