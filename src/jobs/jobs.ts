// Work that outlives its request: launched with a kept hold, run here, and adopted by another process where this one dies.

import type { JobKind } from "../catalog/job-kind.ts";
import type { HoldKeeper } from "../kernel/deps.ts";
import { centsUp } from "../money.ts";
import type { Payer } from "../plan.ts";
import { heard, keepCancelled, toldTo } from "./cancelled.ts";
import { CostRooms } from "./cost-room.ts";
import type { JobsDeps } from "./deps.ts";
import { findJob, isOver, JOB, type JobRecord, putJob, type StoredJob } from "./job-record.ts";
import { JobRun } from "./job-run.ts";
import { spentSoFar } from "./job-view.ts";
import { JobWatches, type WatchedJob } from "./job-watches.ts";
import { Launches } from "./launches.ts";
import { Runners } from "./runners.ts";

export interface JobsOptions extends Omit<JobsDeps, "onWritten" | "costRooms"> {
  readonly kinds: readonly JobKind[];
  /** This process. */
  readonly self: string;
  /** Other processes share the records; false: whatever another process has left is this one's. */
  readonly shared: boolean;
  /** How long a process counts as alive without saying so, in milliseconds. */
  readonly runnerLeaseMs: number;
}

export interface Jobs {
  readonly keeper: HoldKeeper;
  /** Says that this process lives, and from then on adopts what the dead have left. */
  start(): Promise<void>;
  /** Adopts what they have left by now. */
  adopt(): Promise<void>;
  /** Leaves what runs to other processes, or to the next one. */
  stop(): Promise<void>;
  /** A job of this payer; null: there is none. */
  find(id: string, payer: Payer): Promise<JobRecord | null>;
  /** Has a job of this payer's end with what it has, wherever it runs; one that is over stays as it is. Null: there is none. */
  cancel(id: string, payer: Payer): Promise<JobRecord | null>;
  /** Follows a job that is read by `find`, in whichever process it runs. */
  watch(job: JobRecord): WatchedJob;
  /** What it has cost its payer so far; null: its kind tells that at the end. */
  spentCents(job: JobRecord): number | null;
  /** The jobs of all processes that are not over, at most so many. */
  open(countMax: number): Promise<readonly JobRecord[]>;
  /** Here; of one kind, or of all. */
  running(kind?: string): number;
  /** For metrics. */
  seen(): JobsSeen;
}

/** The jobs of this process. */
export interface JobsSeen {
  readonly running: number;
  /** How long ago the oldest of them was launched, and how long the slowest has not come a step further; 0 where none runs. */
  readonly oldestMs: number;
  readonly stillMs: number;
  /** Taken over from processes that died, since the start. */
  readonly adopted: number;
  /** Ended here since the start. */
  readonly ended: readonly { readonly kind: string; readonly status: string; readonly count: number }[];
}

/** How many leases pass between two looks at what the store says is run here. */
const OWN_LOOKS = 3;
const HOLDS_AT_ONCE = 1_000;
const ADOPTED_AT_ONCE = 32;
const STOP_MS_MAX = 1_000;
const AGAIN_MS = 1_000;

class RunningJobs implements Jobs {
  readonly keeper: Launches;
  readonly #options: JobsOptions;
  readonly #runners: Runners;
  readonly #kinds: ReadonlyMap<string, JobKind>;
  readonly #runs = new Map<string, { readonly run: JobRun; readonly over: Promise<void> }>();
  /** Those of them that are at work, and not waiting to be tried again. */
  readonly #active = new Set<string>();
  /** Adoptions that the store has not answered: they may have been written. */
  readonly #unsure = new Set<string>();
  /** What has a dead runner and could not be adopted, and since when, on `clock.elapsedMs()`. */
  readonly #stranded = new Map<string, number>();
  readonly #ended = new Map<string, { readonly kind: string; readonly status: string; count: number }>();
  readonly #watches: JobWatches;
  readonly #costRooms: CostRooms;
  #adopted = 0;
  readonly #timers: NodeJS.Timeout[] = [];
  #adopting: Promise<void> | null = null;
  #isStopped = false;

  constructor(options: JobsOptions) {
    this.#options = options;
    const { records, clock, self, shared, runnerLeaseMs: leaseMs } = options;
    this.#runners = new Runners({ records, clock, self, shared, leaseMs });
    this.#costRooms = new CostRooms(options.windows.unpaidNano);
    this.#kinds = new Map(options.kinds.map((kind) => [kind.name, kind]));
    this.#watches = new JobWatches({
      clock,
      find: async (id) => (await findJob(records, id))?.job ?? null,
      isHere: (id) => this.#active.has(id),
      onBroken: options.onBroken,
    });
    this.keeper = new Launches({
      records,
      clock,
      self,
      runners: this.#runners,
      kinds: this.#kinds,
      run: (stored) => this.#run(stored),
    });
  }

  async start(): Promise<void> {
    // What launches no work has none to go on with.
    if (this.#kinds.size === 0) return;
    const { runnerLeaseMs, shared } = this.#options;
    await this.#runners.beat();
    const every = (ms: number, work: () => Promise<void>) => {
      const timer = setInterval(() => void work().catch((error) => this.#options.onBroken(error, "")), ms);
      timer.unref();
      this.#timers.push(timer);
    };
    every(runnerLeaseMs / 4, () => this.#runners.beat());
    every(runnerLeaseMs / 4, () => this.adopt());
    if (shared) every(runnerLeaseMs / 4, () => this.#lookForCancelled());
    // Far more often than their leases last: after an outage a store that many share asks only who has been heard of since.
    every(runnerLeaseMs, () => this.#renew());
    every(runnerLeaseMs * OWN_LOOKS, () => this.#lookAfterOwn());
    void this.adopt().catch((error: unknown) => this.#options.onBroken(error, ""));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    this.#watches.stop();
    for (const { run } of this.#runs.values()) run.leave();
    const ended = Promise.all([...this.#runs.values()].map(({ over }) => over));
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, STOP_MS_MAX).unref())]);
    await this.#adopting?.catch(() => {});
    await this.#runners.leave().catch((error: unknown) => this.#options.onBroken(error, ""));
  }

  async find(id: string, payer: Payer): Promise<JobRecord | null> {
    const stored = await findJob(this.#options.records, id);
    return stored === null || stored.job.payer.id !== payer.id ? null : stored.job;
  }

  async cancel(id: string, payer: Payer): Promise<JobRecord | null> {
    const job = await this.find(id, payer);
    if (job === null || isOver(job)) return job;
    // First what outlives this process: a runner that adopts the job must not go on with it.
    const atMs = Math.floor(this.#options.clock.epochMs());
    await keepCancelled(this.#options.records, { jobId: id, atMs }, job.runner);
    this.#runs.get(id)?.run.cancel(atMs);
    return job;
  }

  watch(job: JobRecord): WatchedJob {
    return this.#watches.watch(job);
  }

  spentCents({ kind, spentNano, progress }: JobRecord): number | null {
    return this.#kinds.get(kind)?.counted === "price" ? centsUp(spentNano) : spentSoFar(progress);
  }

  async open(countMax: number): Promise<readonly JobRecord[]> {
    const jobs: JobRecord[] = [];
    for await (const id of this.#runners.all()) {
      if (jobs.length >= countMax) break;
      const stored = await findJob(this.#options.records, id);
      if (stored !== null && !isOver(stored.job)) jobs.push(stored.job);
    }
    return jobs;
  }

  running(kind?: string): number {
    if (kind === undefined) return this.#runs.size;
    return [...this.#runs.values()].filter(({ run }) => run.job.kind === kind).length;
  }

  seen(): JobsSeen {
    const { clock } = this.#options;
    const runs = [...this.#runs.values()].map(({ run }) => run);
    const since = (times: readonly number[], nowMs: number) =>
      times.reduce((most, at) => Math.max(most, nowMs - at), 0);
    const moved = [...runs.map(({ movedMs }) => movedMs), ...this.#stranded.values()];
    return {
      running: runs.length,
      oldestMs: since(
        runs.map(({ createdAtMs }) => createdAtMs),
        clock.epochMs(),
      ),
      stillMs: since(moved, clock.elapsedMs()),
      adopted: this.#adopted,
      ended: [...this.#ended.values()],
    };
  }

  #noteEnd({ kind, state }: JobRecord): void {
    const known = this.#ended.get(`${kind} ${state}`) ?? { kind, status: state, count: 0 };
    known.count += 1;
    this.#ended.set(`${kind} ${state}`, known);
  }

  /** Jobs that were cancelled at another process. */
  async #lookForCancelled(): Promise<void> {
    const { records, self } = this.#options;
    for (const { jobId, atMs } of await toldTo(records, self)) {
      this.#runs.get(jobId)?.run.cancel(atMs);
      await heard(records, jobId);
    }
  }

  #run(stored: StoredJob): void {
    const kind = this.#kinds.get(stored.job.kind);
    const { id } = stored.job;
    // Two runs of one job in one process would take it from each other for ever.
    if (kind === undefined || this.#isStopped || this.#active.has(id)) return;
    this.#active.add(id);
    const { onBroken } = this.#options;
    const onWritten = (job: JobRecord) => {
      this.#watches.changed(job);
      if (isOver(job)) this.#options.onEnded?.(job);
    };
    const run = new JobRun(stored, kind, { ...this.#options, costRooms: this.#costRooms, onWritten });
    const over = run
      .run()
      .finally(() => {
        run.spend.close();
        this.#active.delete(id);
      })
      .then((how) => {
        if (how === "left") return this.#again(id);
        this.#noteEnd(run.job);
        return this.#forget(id, run.job);
      })
      .catch((error: unknown) => {
        onBroken(error, id);
        return this.#again(id);
      })
      .catch((error: unknown) => onBroken(error, id));
    this.#runs.set(id, { run, over });
    void over.then(() => {
      if (this.#runs.get(id)?.run === run) this.#runs.delete(id);
    });
  }

  /** What did not come to its end here is tried again where it is still this process's, however long the store is away. */
  async #again(id: string): Promise<void> {
    for (let isKnown = false; !isKnown && !this.#isStopped; ) {
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS).unref());
      isKnown = await this.#goOn(id).catch((error: unknown) => {
        this.#options.onBroken(error, id);
        return false;
      });
    }
  }

  /** Rejects where the store is away. */
  async #goOn(id: string): Promise<true> {
    if (this.#isStopped) return true;
    const stored = await findJob(this.#options.records, id);
    if (stored !== null && !isOver(stored.job) && stored.job.runner === this.#options.self) this.#run(stored);
    else await this.#forget(id, stored?.job ?? null);
    return true;
  }

  /** Its end is kept first: a process that dies in between leaves it to the next one that looks at the job. */
  async #forget(id: string, job: JobRecord | null, runner?: string): Promise<void> {
    if (job !== null && isOver(job)) await this.#options.keepEnd?.(job);
    await this.#runners.remove(id, runner);
  }

  /** A store that has lost what it acknowledged may know jobs as running here that have ended: they come to the same end again. */
  async #lookAfterOwn(): Promise<void> {
    await this.keeper.undo();
    for (const id of await this.#runners.own()) {
      if (this.#runs.has(id) || this.#unsure.has(id)) continue;
      // A launch is listed before it has a record: what has none, or is still launching, is left alone.
      const stored = await findJob(this.#options.records, id);
      if (stored !== null && stored.job.state !== "launching") await this.#goOn(id);
    }
  }

  /** New leases for the holds of what runs here; one whose hold has gone has nothing left to be paid with. */
  async #renew(): Promise<void> {
    const { ledger, holdLeaseMs } = this.#options;
    const runs = [...this.#runs.values()].map(({ run }) => run);
    for (let at = 0; at < runs.length; at += HOLDS_AT_ONCE) {
      const some = runs.slice(at, at + HOLDS_AT_ONCE);
      const gone = new Set(
        await ledger.renew(
          some.map(({ hold }) => hold),
          holdLeaseMs,
        ),
      );
      for (const run of some) if (gone.has(run.hold.holdId)) run.leave();
    }
  }

  /** Never twice at a time: a round that finds the last one still going is left out. */
  adopt(): Promise<void> {
    this.#adopting ??= this.#adoptDead().finally(() => {
      this.#adopting = null;
    });
    return this.#adopting;
  }

  async #adoptDead(): Promise<void> {
    for await (const { runner, jobIds } of this.#runners.dead()) {
      for (let at = 0; at < jobIds.length && !this.#isStopped; at += ADOPTED_AT_ONCE) {
        const some = jobIds.slice(at, at + ADOPTED_AT_ONCE);
        await Promise.all(
          some.map((id) =>
            this.#adopt(id, runner)
              .then(() => this.#stranded.delete(id))
              .catch((error: unknown) => {
                if (!this.#stranded.has(id)) this.#stranded.set(id, this.#options.clock.elapsedMs());
                this.#options.onBroken(error, id);
              }),
          ),
        );
      }
    }
    await this.#renew();
  }

  /** A launch that died: its caller was not told of it, so it has never begun. */
  async #drop({ id, kind, hold, runner }: JobRecord): Promise<void> {
    const { records, ledger } = this.#options;
    await ledger.void(hold, "its launch died");
    await this.#kinds.get(kind)?.abandon?.(id);
    await records.delete(JOB, id);
    await this.#runners.remove(id, runner);
  }

  async #adopt(id: string, runner: string): Promise<void> {
    const { records, self } = this.#options;
    if (this.#unsure.has(id)) return;
    const stored = await findJob(records, id);
    if (stored === null || isOver(stored.job) || stored.job.runner !== runner)
      return this.#forget(id, stored?.job ?? null, runner);
    const { job, version } = stored;
    if (job.state === "launching") return this.#drop(job);
    if (!this.#kinds.has(job.kind)) throw new Error(`the job ${id} is of the unknown kind ${job.kind}`);
    await this.#runners.add(id);
    const adopted = { ...job, runner: self, adoptions: (job.adoptions ?? 0) + 1 };
    const adoptedVersion = await putJob(records, adopted, version).catch((error: unknown) => {
      this.#unsure.add(id);
      void this.#again(id).finally(() => this.#unsure.delete(id));
      throw error;
    });
    if (adoptedVersion === null) return this.#runners.remove(id);
    await this.#runners.remove(id, runner);
    this.#adopted += 1;
    this.#run({ job: adopted, version: adoptedVersion });
  }
}

/** Jobs of these kinds. Nothing runs before `start`. */
export function createJobs(options: JobsOptions): Jobs {
  return new RunningJobs(options);
}
