// One job while it runs in this process: its calls, its progress, and the one end that its hold comes to.
import type { InnerAnswer, WantedCall } from "../catalog/local-action.ts";
import type { CountedCalls } from "../kernel/inner-call.ts";
import { postedLegs, upstreamOf } from "../kernel/legs.ts";
import { Spend } from "../kernel/parent-funds.ts";
import { least, type Nano, ZERO } from "../money.ts";
import type { Payer } from "../plan.ts";
import type { JobsDeps } from "./deps.ts";
import { type JobEnd, type JobKind, LeaseLost, type RunningJob } from "./job-kind.ts";
import { findJob, type JobRecord, putJob, type StoredJob } from "./job-record.ts";

/** How long a job that was told to end with what it has may take for that. */
const GRACE_MS = 30_000;
const FAILED: JobEnd = { status: "failed", result: null, chargeNano: ZERO };

export class JobRun implements RunningJob {
  readonly id: string;
  readonly payer: Payer;
  readonly start: unknown;
  readonly spend: Spend;
  readonly #kind: JobKind;
  readonly #deps: JobsDeps;
  readonly #calls: CountedCalls;
  readonly #stop = new AbortController();
  #job: JobRecord;
  #version: number;
  /** The put that is under way, and the one that is to follow it for those who asked meanwhile. */
  #putting: Promise<void> | null = null;
  #next: Promise<void> | null = null;
  /** The job is no longer this process's to end. */
  #isGone = false;
  /** The store did not answer when it was asked for this job. */
  #wasAway = false;

  constructor({ job, version }: StoredJob, kind: JobKind, deps: JobsDeps) {
    this.id = job.id;
    this.payer = job.payer;
    this.start = job.start;
    this.spend = new Spend(job.amountNano, kind.counted, job.spentNano);
    this.#job = job;
    this.#version = version;
    this.#kind = kind;
    this.#deps = deps;
    const { clock } = deps;
    this.#calls = deps.innerCalls({
      id: job.hold.holdId,
      requestId: job.hold.holdId.replace(/^tx_/, "req_"),
      payer: job.payer,
      signal: this.#stop.signal,
      deadlineMs: clock.elapsedMs() + this.#leftMs(),
      spend: this.spend,
      sandboxFault: job.sandboxFault,
      legs: job.legs,
    });
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get progress(): unknown {
    return this.#job.progress;
  }

  get hold(): JobRecord["hold"] {
    return this.#job.hold;
  }

  async call(wanted: WantedCall): Promise<InnerAnswer> {
    await this.#prove();
    return this.#calls.call(wanted);
  }

  async ladder(wanted: readonly WantedCall[]): Promise<InnerAnswer> {
    await this.#prove();
    return this.#calls.ladder(wanted);
  }

  async race(wanted: readonly WantedCall[]): Promise<InnerAnswer> {
    await this.#prove();
    return this.#calls.race(wanted);
  }

  async save(progress: unknown): Promise<void> {
    this.#job = { ...this.#job, progress, spentNano: this.spend.spentNano };
    await this.#prove();
  }

  async extend(amountNano: Nano, accruedNano: Nano): Promise<boolean> {
    const { ledger, holdLeaseMs } = this.#deps;
    const extended = await ledger.extend(this.#job.hold, amountNano, accruedNano, holdLeaseMs).catch(this.#away);
    if (extended.outcome === "gone") this.leave();
    if (extended.outcome !== "extended") return false;
    this.spend.raise(extended.amountNano);
    this.#job = { ...this.#job, amountNano: extended.amountNano };
    return true;
  }

  /** This process must not go on with it; another one may. */
  leave(): void {
    this.#isGone = true;
    this.#stop.abort();
  }

  /** Runs the job to its end; `left`: it is not over, and no longer this run's. Rejects where the store is away. */
  async run(): Promise<"ended" | "left"> {
    try {
      if (this.#job.state !== "ending" && !(await this.#isHeld())) {
        await this.#close();
        return "ended";
      }
      if (this.#job.state !== "ending") await this.#decide();
      await this.#settle();
      return "ended";
    } catch (error) {
      if (error instanceof LeaseLost) return "left";
      throw error;
    }
  }

  /** Whether there is still money for it: the hold of a job that nobody ran for long has ended by its own lease. */
  async #isHeld(): Promise<boolean> {
    const { ledger, holdLeaseMs } = this.#deps;
    return (await ledger.renew([this.#job.hold], holdLeaseMs)).length === 0;
  }

  /** Its hold has ended without it: what the ledger made of that is its end. */
  async #close(): Promise<void> {
    const { accountId, holdId } = this.#job.hold;
    const posting = await this.#deps.ledger.transaction(accountId, holdId);
    this.#job = { ...this.#job, state: "failed", end: FAILED, chargedCents: posting?.chargedCents ?? 0 };
    await this.#prove();
  }

  #leftMs(): number {
    const { clock } = this.#deps;
    return Math.max(0, this.#job.createdAtMs + this.#kind.msMax - clock.epochMs());
  }

  /** Has the kind run it, and keeps how it ended before anything is paid. */
  async #decide(): Promise<void> {
    const leftMs = this.#leftMs();
    const late = setTimeout(() => this.#stop.abort(), leftMs);
    const { promise: overdue, reject } = Promise.withResolvers<never>();
    const hard = setTimeout(() => reject(new Error(`the job ${this.id} did not end in its time`)), leftMs + GRACE_MS);
    let end: JobEnd;
    try {
      end = await Promise.race([this.#kind.run(this), overdue]);
    } catch (error) {
      if (this.#isGone || error instanceof LeaseLost) throw new LeaseLost();
      // That is no fault of the work: it goes on from what was saved last, once the store is back.
      if (this.#wasAway) throw error;
      this.#deps.onBroken(error, this.id);
      end = FAILED;
    } finally {
      clearTimeout(late);
      clearTimeout(hard);
      this.#stop.abort();
    }
    if (this.#isGone) throw new LeaseLost();
    const chargeNano = end.status === "succeeded" ? least(end.chargeNano, this.#job.amountNano) : ZERO;
    this.#job = { ...this.#job, state: "ending", end: { ...end, chargeNano } };
    await this.#prove();
  }

  /** Pays what was decided, once however often it is tried, and says so. */
  async #settle(): Promise<void> {
    const chargedCents = await this.#pay();
    this.#job = { ...this.#job, state: this.#job.end?.status ?? "failed", chargedCents };
    await this.#prove();
  }

  async #pay(): Promise<number> {
    const { ledger } = this.#deps;
    const { hold, end, legs, kind } = this.#job;
    if (end === null || end.status === "failed") {
      // The launch was answered: under its Idempotency-Key it is answered so again.
      await ledger.void(hold, "the job failed", "answered");
      return 0;
    }
    const posted = await ledger.post({
      ...hold,
      amountNano: end.chargeNano,
      upstreamNano: upstreamOf(legs),
      absorbReason: "usage_above_hold",
      provider: "tollgate",
      served: kind,
      usage: null,
      estimated: false,
      priceVersion: kind,
      legs: postedLegs(legs),
    });
    return posted.outcome === "posted" || posted.outcome === "spooled" ? posted.chargedCents : 0;
  }

  readonly #away = (error: unknown): never => {
    this.#wasAway = true;
    throw error;
  };

  /** A versioned put of what is known: whoever asks while one is under way is proven by the next. */
  #prove(): Promise<void> {
    if (this.#putting === null) {
      this.#putting = this.#put().finally(() => {
        this.#putting = null;
      });
      return this.#putting;
    }
    this.#next ??= this.#putting
      .catch(() => {})
      .then(() => {
        this.#next = null;
        return this.#prove();
      });
    return this.#next;
  }

  async #put(): Promise<void> {
    const { records } = this.#deps;
    if (this.#isGone) throw new LeaseLost();
    const state = this.#job.state === "queued" ? "running" : this.#job.state;
    const job = { ...this.#job, state, legs: this.#calls.legs() };
    this.#job = job;
    const version = await putJob(records, job, this.#version)
      .catch(async (error: unknown) => {
        // It may have been written all the same: then it is there, word for word.
        const stored = await findJob(records, job.id);
        if (stored !== null && JSON.stringify(stored.job) === JSON.stringify(job)) return stored.version;
        throw error;
      })
      .catch(this.#away);
    if (version === null) {
      this.leave();
      throw new LeaseLost();
    }
    this.#version = version;
  }
}
