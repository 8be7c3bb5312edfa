// Follows jobs for callers that wait: notified of writes in this process, polled where another process runs the job.
import type { Clock } from "../../core/clock.ts";
import type { JobRecord } from "./job-record.ts";

/** How often watches check what is due, and wake their waiters. */
const TICK_MS = 1_000;
/** The polling interval for a job in another process; it grows while nothing changes. */
const LOOK_MS = { first: 1_000, most: 5_000 } as const;
/** Jobs here report their own changes; this poll only detects that another process took one over. */
const LOOK_HERE_MS = 15_000;

export interface JobWatchesParts {
  readonly clock: Pick<Clock, "elapsedMs">;
  find(id: string): Promise<JobRecord | null>;
  isHere(id: string): boolean;
  onBroken(error: unknown, jobId: string): void;
}

export interface WatchedJob {
  /** Null where the job no longer exists. */
  readonly job: JobRecord | null;
  /** Settles when it has changed, or after a second at most. One wait at a time. */
  next(): Promise<void>;
  wake(): void;
  close(): void;
}

interface Followed {
  job: JobRecord | null;
  readonly by: Set<WatchedJob>;
  lookAtMs: number;
  everyMs: number;
}

export class JobWatches {
  readonly #parts: JobWatchesParts;
  readonly #followed = new Map<string, Followed>();
  #timer: NodeJS.Timeout | null = null;

  constructor(parts: JobWatchesParts) {
    this.#parts = parts;
  }

  watch(job: JobRecord): WatchedJob {
    const { id } = job;
    const known = this.#followed.get(id);
    const followed = known ?? { job, by: new Set(), lookAtMs: this.#in(LOOK_MS.first), everyMs: LOOK_MS.first };
    this.#followed.set(id, followed);
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS).unref();
    let woken = Promise.withResolvers<void>();
    const watched: WatchedJob = {
      get job() {
        return followed.job;
      },
      async next() {
        await woken.promise;
        woken = Promise.withResolvers<void>();
      },
      wake: () => woken.resolve(),
      close: () => {
        followed.by.delete(watched);
        if (followed.by.size > 0) return;
        this.#followed.delete(id);
        if (this.#followed.size === 0) this.stop();
      },
    };
    followed.by.add(watched);
    return watched;
  }

  /** Called when this process has written the job. */
  changed(job: JobRecord): void {
    const followed = this.#followed.get(job.id);
    if (followed !== undefined) this.#saw(followed, job);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #in(ms: number): number {
    return this.#parts.clock.elapsedMs() + ms;
  }

  #tick(): void {
    const nowMs = this.#in(0);
    for (const [id, followed] of this.#followed) {
      if (nowMs >= followed.lookAtMs) void this.#look(id, followed);
      for (const watched of followed.by) watched.wake();
    }
  }

  async #look(id: string, followed: Followed): Promise<void> {
    // No second look before this one returns, however long it takes.
    followed.lookAtMs = Number.POSITIVE_INFINITY;
    try {
      const before = followed.job;
      const job = await this.#parts.find(id);
      const isSame = JSON.stringify(job) === JSON.stringify(before);
      followed.everyMs = isSame ? Math.min(LOOK_MS.most, followed.everyMs * 1.5) : LOOK_MS.first;
      // A write in this process meanwhile is newer than the result.
      if (!isSame && followed.job === before) this.#saw(followed, job);
    } catch (error) {
      this.#parts.onBroken(error, id);
    } finally {
      followed.lookAtMs = this.#in(this.#parts.isHere(id) ? LOOK_HERE_MS : followed.everyMs);
    }
  }

  #saw(followed: Followed, job: JobRecord | null): void {
    followed.job = job;
    for (const watched of followed.by) watched.wake();
  }
}
