// Work that outlives its request: launched with a kept hold, run here or where jobs are run, and adopted by another process where that one dies.

import type { JobKind } from "../../catalog/job-kind.ts";
import { centsUp } from "../../core/money.ts";
import type { Payer } from "../../core/plan.ts";
import type { HoldKeeper } from "../../kernel/deps.ts";
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
  /** This process. */
  readonly self: string;
  /** Other processes share the records; false: whatever another process has left is this one's. */
  readonly shared: boolean;
  /** False: jobs that are launched here are left to processes that run them. Left out: this one does. */
  readonly works?: boolean;
  /** How processes tell each other of jobs. Left out: they find out by themselves. */
  readonly news?: JobNews;
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
  /** Those that are tried again, until it is known whose they are. */
  readonly #trying = new Map<string, Promise<void>>();
  readonly #ended = new Map<string, { readonly kind: string; readonly status: string; count: number }>();
  readonly #watches: JobWatches;
  readonly #costRooms: CostRooms;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #works: boolean;
  readonly #news: JobNews;
  /** What is done with jobs that are left here or have just been told of. */
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
    every(runnerLeaseMs * OWN_LOOKS, () => this.#lookAfterOwn());
    if (!this.#works) return;
    every(runnerLeaseMs / 4, () => this.adopt());
    if (shared) every(runnerLeaseMs / 4, () => this.#lookForCancelled());
    // Far more often than their leases last: after an outage a store that many share asks only who has been heard of since.
    every(runnerLeaseMs, () => this.#renew());
    const adopt = () => void this.adopt().catch((error: unknown) => this.#options.onBroken(error, ""));
    await this.#news.hear((id) => this.#pass(id, this.#look(id)), adopt);
    adopt();
  }

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

  async find(id: string, payer: Payer): Promise<JobRecord | null> {
    const stored = await findJob(this.#options.records, id);
    return stored === null || stored.job.payer.id !== payer.id ? null : stored.job;
  }

  async cancel(id: string, payer: Payer): Promise<JobRecord | null> {
    const job = await this.find(id, payer);
    if (job === null || isOver(job)) return job;
    // First what outlives this process: a runner that adopts the job must not go on with it.
    const { records, clock } = this.#options;
    const atMs = Math.floor(clock.epochMs());
    const cancelled = { jobId: id, atMs };
    await keepCancelled(records, cancelled);
    // Read again: a runner that has adopted it meanwhile may have looked before this was kept. Told again, too: who asked before may have been cut off.
    const { runner } = (await this.find(id, payer)) ?? job;
    await tellRunner(records, cancelled, runner);
    const here = this.#runs.get(id);
    if (here === undefined) await this.#news.tell(id);
    else here.run.cancel(atMs);
    return job;
  }

  watch(job: JobRecord): WatchedJob {
    return this.#watches.watch(job);
  }

  spentCents({ kind, spentNano, progress }: JobRecord): number | null {
    return this.#kinds.get(kind)?.counted === "price" ? centsUp(spentNano) : spentSoFar(progress);
  }

  async open(countMax: number): Promise<readonly JobRecord[]> {
    // What changes hands is in two lists for a moment.
    const jobs = new Map<string, JobRecord>();
    for await (const id of this.#runners.all()) {
      if (jobs.size >= countMax) break;
      const stored = await findJob(this.#options.records, id);
      if (stored !== null && !isOver(stored.job)) jobs.set(id, stored.job);
    }
    return [...jobs.values()];
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

  /** Jobs that were cancelled at another process. */
  async #lookForCancelled(): Promise<void> {
    const { records, self } = this.#options;
    for (const { jobId, atMs } of await toldTo(records, self)) {
      this.#runs.get(jobId)?.run.cancel(atMs);
      await heard(records, jobId);
    }
  }

  /** Something that another process has told of this job is seen to. */
  async #look(id: string): Promise<void> {
    if (this.#isStopped) return;
    const here = this.#runs.get(id);
    if (here === undefined) return this.#adoptions.adopt(id, WAITING);
    const atMs = await cancelledAt(this.#options.records, id);
    if (atMs !== null) here.run.cancel(atMs);
  }

  /** Sees to it that a stop waits for it. */
  #pass(id: string, work: Promise<void>): void {
    const passing: Promise<void> = work
      .catch((error: unknown) => this.#options.onBroken(error, id))
      .finally(() => this.#passing.delete(passing));
    this.#passing.add(passing);
  }

  /** A job of this process's goes on: here, or where jobs are run. */
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

  /** Its end is kept first: a process that dies in between leaves it to the next one that looks at the job. */
  async #forget(id: string, job: JobRecord | null, runner?: string): Promise<void> {
    if (job !== null && isOver(job)) await this.#options.keepEnd?.(job);
    await this.#runners.remove(id, runner);
  }

  /** A store that has lost what it acknowledged may know jobs as running here that have ended: they come to the same end again. */
  async #lookAfterOwn(): Promise<void> {
    await this.keeper.undo();
    for (const id of await this.#runners.own()) {
      if (this.#runs.has(id) || this.keeper.isLaunching(id) || this.#adoptions.isUnsure(id)) continue;
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

/** Jobs of these kinds. Nothing runs before `start`. */
export function createJobs(options: JobsOptions): Jobs {
  return new RunningJobs(options);
}
