// Work that outlives its request: launched with a kept hold, run here or by a job runner, adopted where that process dies.

import type { JobKind } from "../../catalog/job-kind.ts";
import { chunksOf } from "../../core/chunks.ts";
import { centsUp } from "../../core/money.ts";
import type { Payer } from "../../core/plan.ts";
import { Adoptions } from "./adoptions.ts";
import { cancelledAt, heard, keepCancelled, tellRunner, toldTo } from "./cancelled.ts";
import { CostRooms } from "./cost-room.ts";
import type { JobsDeps } from "./deps.ts";
import { type JobNews, jobNews } from "./job-news.ts";
import { findJob, isOver, type JobRecord, type StoredJob } from "./job-record.ts";
import { JobRun } from "./job-run.ts";
import { spentSoFar } from "./job-view.ts";
import { JobWatches, type WatchedJob } from "./job-watches.ts";
import { Launches } from "./launches.ts";
import { Runners, WAITING } from "./runners.ts";

export interface JobsOptions extends Omit<JobsDeps, "onWritten" | "costRooms"> {
  readonly kinds: readonly JobKind[];
  readonly self: string;
  /** Other processes share the records; false: this process adopts whatever another has left. */
  readonly shared: boolean;
  /** False: this process only launches jobs, and others run them. Default: true. */
  readonly works?: boolean;
  /** Notifies other processes of jobs; without it, they find out by polling. */
  readonly news?: JobNews;
  /** How long a process counts as alive without a heartbeat, in milliseconds. */
  readonly runnerLeaseMs: number;
}

export interface JobsSeen {
  readonly running: number;
  /** The age of the oldest, and how long the slowest has made no progress; 0 where none runs. */
  readonly oldestMs: number;
  readonly stillMs: number;
  /** Adopted from dead processes since the start. */
  readonly adopted: number;
  readonly ended: readonly { readonly kind: string; readonly status: string; readonly count: number }[];
}

/** Leases between two checks of the jobs that the store lists as running here. */
const OWN_LOOKS = 3;
const HOLDS_AT_ONCE = 1_000;
const STOP_MS_MAX = 1_000;
const AGAIN_MS = 1_000;

export class Jobs {
  readonly keeper: Launches;
  readonly #options: JobsOptions;
  readonly #runners: Runners;
  readonly #kinds: ReadonlyMap<string, JobKind>;
  readonly #runs = new Map<string, { readonly run: JobRun; readonly over: Promise<void> }>();
  /** Those of `#runs` that are working rather than waiting for a retry. */
  readonly #active = new Set<string>();
  /** Jobs that are retried until their owner is known. */
  readonly #trying = new Map<string, Promise<void>>();
  readonly #ended = new Map<string, { readonly kind: string; readonly status: string; count: number }>();
  readonly #watches: JobWatches;
  readonly #costRooms: CostRooms;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #works: boolean;
  readonly #news: JobNews;
  /** Work in progress on jobs that this process leaves to others, or was notified of. */
  readonly #passing = new Set<Promise<void>>();
  readonly #adoptions: Adoptions;
  #adopting: Promise<void> | null = null;
  #isStopped = false;

  constructor(options: JobsOptions) {
    this.#options = options;
    const { records, clock, self, shared, works = true, news = jobNews(null), runnerLeaseMs: leaseMs } = options;
    this.#works = works;
    this.#news = news;
    this.#runners = new Runners({ records, clock, self, shared, works, leaseMs });
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
      run: (stored) => this.#goOnWith(stored),
    });
    this.#adoptions = new Adoptions({
      ...options,
      runners: this.#runners,
      kinds: this.#kinds,
      isStopped: () => this.#isStopped,
      run: (stored) => this.#run(stored),
      again: (id) => this.#again(id),
      forget: (id, job, runner) => this.#forget(id, job, runner),
    });
  }

  /** Starts heartbeats and the adoption of dead processes' jobs. Nothing runs before. */
  async start(): Promise<void> {
    // Without job kinds there is nothing to run.
    if (this.#kinds.size === 0) return;
    const { runnerLeaseMs, shared } = this.#options;
    await this.#runners.beat();
    const every = (ms: number, work: () => Promise<void>) => {
      const timer = setInterval(() => void work().catch((error) => this.#options.onBroken(error, "")), ms);
      timer.unref();
      this.#timers.push(timer);
    };
    every(runnerLeaseMs / 4, () => this.#runners.beat());
    every(runnerLeaseMs * OWN_LOOKS, () => this.#lookAfterOwn());
    if (!this.#works) return;
    every(runnerLeaseMs / 4, () => this.adopt());
    if (shared) every(runnerLeaseMs / 4, () => this.#lookForCancelled());
    // Far more often than leases expire: after an outage, a shared store considers only owners that it has heard from since.
    every(runnerLeaseMs, () => this.#renew());
    const adopt = () => void this.adopt().catch((error: unknown) => this.#options.onBroken(error, ""));
    await this.#news.hear((id) => this.#pass(id, this.#look(id)), adopt);
    adopt();
  }

  /** Leaves running jobs to other processes, or to the next start. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    this.#watches.stop();
    for (const { run } of this.#runs.values()) run.leave();
    const ended = Promise.all([...this.#runs.values()].map(({ over }) => over));
    const passed = Promise.all(this.#passing);
    await Promise.race([
      Promise.all([ended, passed]),
      new Promise((resolve) => setTimeout(resolve, STOP_MS_MAX).unref()),
    ]);
    await this.#adopting?.catch(() => {});
    await this.#runners.leave().catch((error: unknown) => this.#options.onBroken(error, ""));
  }

  /** One of this payer's jobs; null where there is none. */
  async find(id: string, payer: Payer): Promise<JobRecord | null> {
    const stored = await findJob(this.#options.records, id);
    return stored === null || stored.job.payer.id !== payer.id ? null : stored.job;
  }

  /** Ends one of this payer's jobs with its results so far, in whatever process it runs; null where there is none. */
  async cancel(id: string, payer: Payer): Promise<JobRecord | null> {
    const job = await this.find(id, payer);
    if (job === null || isOver(job)) return job;
    // First record what outlives this process, so that a runner that adopts the job does not continue it.
    const { records, clock } = this.#options;
    const atMs = Math.floor(clock.epochMs());
    const cancelled = { jobId: id, atMs };
    await keepCancelled(records, cancelled);
    // Read again: a runner may have adopted the job before the cancellation was recorded. Notify on repeats too, because an earlier request
    // may have died here.
    const { runner } = (await this.find(id, payer)) ?? job;
    await tellRunner(records, cancelled, runner);
    const here = this.#runs.get(id);
    if (here === undefined) await this.#news.tell(id);
    else here.run.cancel(atMs);
    return job;
  }

  /** Follows a job that `find` returned, in whatever process it runs. */
  watch(job: JobRecord): WatchedJob {
    return this.#watches.watch(job);
  }

  /** Returns the cost so far, in cents; null for kinds whose cost is known only at the end. */
  spentCents({ kind, spentNano, progress }: JobRecord): number | null {
    return this.#kinds.get(kind)?.counted === "price" ? centsUp(spentNano) : spentSoFar(progress);
  }

  /** The unfinished jobs of all processes, at most `countMax`. */
  async open(countMax: number): Promise<readonly JobRecord[]> {
    // A job that changes owner is in two lists for a moment.
    const jobs = new Map<string, JobRecord>();
    for await (const id of this.#runners.all()) {
      if (jobs.size >= countMax) break;
      const stored = await findJob(this.#options.records, id);
      if (stored !== null && !isOver(stored.job)) jobs.set(id, stored.job);
    }
    return [...jobs.values()];
  }

  /** The number of jobs that run here, of one kind or of all. */
  running(kind?: string): number {
    if (kind === undefined) return this.#runs.size;
    return [...this.#runs.values()].filter(({ run }) => run.job.kind === kind).length;
  }

  seen(): JobsSeen {
    const { clock } = this.#options;
    const runs = [...this.#runs.values()].map(({ run }) => run);
    const since = (times: readonly number[], nowMs: number) =>
      times.reduce((most, at) => Math.max(most, nowMs - at), 0);
    const moved = [...runs.map(({ movedMs }) => movedMs), ...this.#adoptions.strandedMs];
    return {
      running: runs.length,
      oldestMs: since(
        runs.map(({ createdAtMs }) => createdAtMs),
        clock.epochMs(),
      ),
      stillMs: since(moved, clock.elapsedMs()),
      adopted: this.#adoptions.count,
      ended: [...this.#ended.values()],
    };
  }

  #noteEnd({ kind, state }: JobRecord): void {
    const known = this.#ended.get(`${kind} ${state}`) ?? { kind, status: state, count: 0 };
    known.count += 1;
    this.#ended.set(`${kind} ${state}`, known);
  }

  /** Cancels jobs whose cancellation arrived at another process. */
  async #lookForCancelled(): Promise<void> {
    const { records, self } = this.#options;
    for (const { jobId, atMs } of await toldTo(records, self)) {
      this.#runs.get(jobId)?.run.cancel(atMs);
      await heard(records, jobId);
    }
  }

  /** Handles another process's notification about this job. */
  async #look(id: string): Promise<void> {
    if (this.#isStopped) return;
    const here = this.#runs.get(id);
    if (here === undefined) return this.#adoptions.adopt(id, WAITING);
    const atMs = await cancelledAt(this.#options.records, id);
    if (atMs !== null) here.run.cancel(atMs);
  }

  /** Makes a stop wait for this work. */
  #pass(id: string, work: Promise<void>): void {
    const passing: Promise<void> = work
      .catch((error: unknown) => this.#options.onBroken(error, id))
      .finally(() => this.#passing.delete(passing));
    this.#passing.add(passing);
  }

  /** Continues one of this process's jobs: here, or in a process that runs jobs. */
  #goOnWith(stored: StoredJob): void {
    const { id } = stored.job;
    if (this.#works) return this.#run(stored);
    const leaving = this.keeper.leave(stored).then(
      () => this.#news.tell(id),
      (error: unknown) => {
        this.#options.onBroken(error, id);
        void this.#again(id);
      },
    );
    this.#pass(id, leaving);
  }

  #run(stored: StoredJob): void {
    const kind = this.#kinds.get(stored.job.kind);
    const { id } = stored.job;
    // Two runs of one job in one process would take it from each other forever.
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

  /** Retries a job that did not end here while this process owns it, for as long as the store is away. */
  #again(id: string): Promise<void> {
    const under = this.#trying.get(id);
    if (under !== undefined) return under;
    const trying = this.#tryAgain(id).finally(() => this.#trying.delete(id));
    this.#trying.set(id, trying);
    return trying;
  }

  async #tryAgain(id: string): Promise<void> {
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
    if (stored !== null && !isOver(stored.job) && stored.job.runner === this.#options.self) this.#goOnWith(stored);
    else await this.#forget(id, stored?.job ?? null);
    return true;
  }

  /** Records the end first: if this process dies in between, the next process that looks at the job does the rest. */
  async #forget(id: string, job: JobRecord | null, runner?: string): Promise<void> {
    if (job !== null && isOver(job)) await this.#options.keepEnd?.(job);
    await this.#runners.remove(id, runner);
  }

  /** A store that lost acknowledged writes may list ended jobs as running here: they end the same way again. */
  async #lookAfterOwn(): Promise<void> {
    await this.keeper.undo();
    for (const id of await this.#runners.own()) {
      if (this.#runs.has(id) || this.keeper.isLaunching(id) || this.#adoptions.isUnsure(id)) continue;
      // A launch is listed before it has a record, so ignore jobs that have none or are still launching.
      const stored = await findJob(this.#options.records, id);
      if (stored !== null && stored.job.state !== "launching") await this.#goOn(id);
    }
  }

  /** Renews the holds of jobs that run here; leaves a job whose hold is gone, because nothing can pay for it. */
  async #renew(): Promise<void> {
    const { ledger, holdLeaseMs } = this.#options;
    const runs = [...this.#runs.values()].map(({ run }) => run);
    for await (const some of chunksOf(runs, HOLDS_AT_ONCE)) {
      const gone = new Set(
        await ledger.renew(
          some.map(({ hold }) => hold),
          holdLeaseMs,
        ),
      );
      for (const run of some) if (gone.has(run.hold.holdId)) run.leave();
    }
  }

  /** Adopts now what dead processes have left. While a round is running, further calls share it. */
  adopt(): Promise<void> {
    if (!this.#works) return Promise.resolve();
    this.#adopting ??= this.#adoptions
      .adoptDead()
      .then(() => this.#renew())
      .finally(() => {
        this.#adopting = null;
      });
    return this.#adopting;
  }
}
