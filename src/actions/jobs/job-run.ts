// One job while it runs in this process: its calls, its progress, and the single end of its hold.

import {
  CANCELLED,
  type Holding,
  type JobEnd,
  type JobKind,
  type JobPart,
  LeaseLost,
  NoLongerPaid,
  type NotHeld,
  type RunningJob,
  type Served,
  type Stopped,
} from "../../catalog/job-kind.ts";
import type { InnerCalls, InnerModels } from "../../catalog/local-action.ts";
import { requestIdOf } from "../../core/ids.ts";
import { least, type Nano, ZERO } from "../../core/money.ts";
import type { Payer } from "../../core/plan.ts";
import type { CountedCalls } from "../../kernel/inner-call.ts";
import { Spend } from "../../kernel/parent-funds.ts";
import { cancelledAt } from "./cancelled.ts";
import type { JobsDeps } from "./deps.ts";
import { isOver, type JobRecord, type StoredJob } from "./job-record.ts";
import { notHeld, payJob, STOPPED, succeedHold } from "./pay-job.ts";
import { PATIENT, ProvenJob } from "./proven-job.ts";

/** How long a job may take to return the results so far once its time is over or it was cancelled. */
const GRACE_MS = 30_000;
/** How often a job may be adopted without progress: its work may be what kills the processes. */
const ADOPTIONS_MAX = 50;
const FAILED: JobEnd = { status: "failed", result: null, chargeNano: ZERO };

export class JobRun implements RunningJob {
  readonly id: string;
  readonly payer: Payer;
  readonly start: unknown;
  readonly spend: Spend;
  readonly call: InnerCalls["call"];
  readonly race: InnerCalls["race"];
  readonly own: InnerCalls["own"];
  readonly chat: InnerModels["chat"];
  readonly speak: InnerModels["speak"];
  readonly #kind: JobKind;
  readonly #deps: JobsDeps;
  readonly #calls: CountedCalls;
  readonly #stop = new AbortController();
  readonly #proven: ProvenJob;
  /** Why its next step would not be paid; null where it would. */
  #stopped: Stopped | null = null;
  #cancelledAtMs: number | null = null;
  /** When it last progressed here, on `clock.elapsedMs()`. */
  #movedMs: number;

  constructor(stored: StoredJob, kind: JobKind, deps: JobsDeps) {
    const { job } = stored;
    this.id = job.id;
    this.payer = job.payer;
    this.start = job.start;
    const room = kind.mayCostMore === true ? deps.costRooms.of(job.hold.accountId) : null;
    this.spend = new Spend(job.amountNano, kind.counted, job.spentNano, room);
    this.#kind = kind;
    this.#deps = deps;
    this.#proven = new ProvenJob(stored, {
      records: deps.records,
      legs: () => this.#calls.legs(),
      onLost: () => this.#stop.abort(),
      onWritten: (job) => deps.onWritten(job),
    });
    const { clock } = deps;
    this.#movedMs = clock.elapsedMs();
    this.#calls = deps.innerCalls({
      id: job.hold.holdId,
      requestId: requestIdOf(job.hold.holdId),
      payer: job.payer,
      signal: this.#stop.signal,
      deadlineMs: clock.elapsedMs() + this.#leftMs(),
      spend: this.spend,
      sandboxFault: job.sandboxFault,
      legs: job.legs,
    });
    const { call, race, own, chat, speak } = this.#provenFirst(this.#calls);
    [this.call, this.race, this.own, this.chat, this.speak] = [call, race, own, chat, speak];
  }

  /** The latest state in this process, written or not. */
  get job(): JobRecord {
    return this.#proven.job;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get progress(): unknown {
    return this.job.progress;
  }

  get cancelledAtMs(): number | null {
    return this.#cancelledAtMs;
  }

  get sandboxFault(): string | null {
    return this.job.sandboxFault;
  }

  get holding(): Holding {
    const { isUnheld, amountNano, heldSinceMs, createdAtMs, posted } = this.job;
    return {
      amountNano: isUnheld === true ? ZERO : amountNano,
      sinceMs: heldSinceMs ?? createdAtMs,
      postedNano: posted?.nano ?? ZERO,
      isHeld: isUnheld !== true,
    };
  }

  get hold(): JobRecord["hold"] {
    return this.job.hold;
  }

  get createdAtMs(): number {
    return this.job.createdAtMs;
  }

  get movedMs(): number {
    return this.#movedMs;
  }

  /** Its payer cancelled it: it ends with the results so far. */
  cancel(atMs: number): void {
    this.#cancelledAtMs ??= atMs;
    this.#stop.abort(CANCELLED);
  }

  #moved(): void {
    const { clock } = this.#deps;
    this.#movedMs = clock.elapsedMs();
    this.#proven.note({ movedAtMs: Math.floor(clock.epochMs()) });
  }

  part(): JobPart {
    const spend = this.spend.part();
    const calls = this.#provenFirst(this.#calls.paidBy(spend));
    return {
      ...calls,
      end: spend.end,
      get spentNano() {
        return spend.spentNano;
      },
    };
  }

  /** The same calls, each checked and counted as a paid step. */
  #provenFirst(calls: InnerCalls & InnerModels): InnerCalls & InnerModels {
    const proven = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
      await this.#beforePaidStep();
      return ask();
    };
    return {
      call: (wanted) => proven(() => calls.call(wanted)),
      race: (wanted) => proven(() => calls.race(wanted)),
      own: (work) => proven(() => calls.own(work)),
      chat: (wanted) => proven(() => calls.chat(wanted)),
      speak: (wanted) => proven(() => calls.speak(wanted)),
    };
  }

  async #beforePaidStep(): Promise<void> {
    this.#moved();
    const [standing] = await Promise.all([
      this.#deps.ledger.standing(this.job.hold, PATIENT).catch(this.#proven.away),
      this.#proven.prove(),
    ]);
    if (standing === "good") return;
    if (standing === "gone") {
      this.leave();
      throw new LeaseLost();
    }
    this.#stopped = STOPPED[standing];
    throw new NoLongerPaid(this.#stopped);
  }

  async save(progress: unknown): Promise<void> {
    // A kind that overran its time may still be working: discard what it makes from now on.
    if (this.job.state === "ending" || isOver(this.job)) throw new LeaseLost();
    this.#moved();
    const { adoptions = 0, progress: before } = this.job;
    // An adopted job first saves its old progress again, which does not count.
    if (adoptions > 0 && JSON.stringify(progress) !== JSON.stringify(before)) this.#proven.note({ adoptions: 0 });
    this.#proven.note({ progress, spentNano: this.spend.finishedNano });
    await this.#proven.prove();
  }

  stored<T>(work: () => Promise<T>): Promise<T> {
    return work().catch(this.#proven.away);
  }

  async extend(amountNano: Nano, accruedNano: Nano): Promise<NotHeld | null> {
    const { ledger, holdLeaseMs } = this.#deps;
    this.#moved();
    const extended = await ledger.extend(this.job.hold, amountNano, accruedNano, holdLeaseMs).catch(this.#proven.away);
    if (extended.outcome === "gone") {
      this.leave();
      throw new LeaseLost();
    }
    if (extended.outcome !== "extended") return notHeld(extended.outcome);
    this.spend.raise(extended.amountNano);
    this.#proven.note({ amountNano: extended.amountNano, adoptions: 0 });
    return null;
  }

  async succeed(chargeNano: Nano, nextNano: Nano, served: Served): Promise<NotHeld | null> {
    const { chain, posted } = this.job;
    if (chain === undefined) throw new Error(`the job ${this.id} has one hold`);
    this.#moved();
    const nextId = `${chain.firstId}-${(posted?.holds ?? 0) + 2}`;
    this.#proven.note({
      succeeding: { chargeNano: least(chargeNano, this.job.amountNano), served, nextId, nextNano },
      adoptions: 0,
    });
    await this.#proven.prove();
    return this.#succeed();
  }

  /** Performs the recorded move to the next hold. */
  async #succeed(): Promise<NotHeld | null> {
    const { changes, refused } = await succeedHold(this.job, this.#deps).catch(this.#proven.away);
    this.#proven.note(changes);
    await this.#proven.prove();
    return refused;
  }

  /** Stops it in this process; another process may continue it. */
  leave(): void {
    this.#proven.lose();
  }

  /** Runs the job to its end. `left`: it is not over, but this run lost it. Rejects where the store is away. */
  async run(): Promise<"ended" | "left"> {
    try {
      if (this.job.succeeding) await this.#succeed();
      if (this.job.state !== "ending" && !(await this.#isHeld())) {
        if (this.#kind.outlivesHold !== true) {
          await this.#close();
          return "ended";
        }
        this.#proven.note({ isUnheld: true });
      }
      if (this.job.state !== "ending") {
        // It may have been cancelled while another process ran it, or none did.
        const cancelledAtMs = await cancelledAt(this.#deps.records, this.id);
        if (cancelledAtMs !== null) this.cancel(cancelledAtMs);
        await this.#decide();
      }
      await this.#settle();
      return "ended";
    } catch (error) {
      if (error instanceof LeaseLost) return "left";
      throw error;
    }
  }

  /** Whether it still has money: the hold of a job that did not run for long has expired. */
  async #isHeld(): Promise<boolean> {
    const { ledger, holdLeaseMs } = this.#deps;
    if (this.job.isUnheld === true) return true;
    return (await ledger.renew([this.job.hold], holdLeaseMs)).length === 0;
  }

  /** The hold ended without the job: the ledger's outcome becomes the job's end. */
  async #close(): Promise<void> {
    const { accountId, holdId } = this.job.hold;
    await this.#kind.abandon?.(this.id);
    await this.#clear(FAILED);
    const posting = await this.#deps.ledger.transaction(accountId, holdId);
    const chargedCents = this.job.chargedCents + (posting?.chargedCents ?? 0);
    this.#proven.note({ state: "failed", end: FAILED, chargedCents });
    await this.#proven.prove();
  }

  async #clear(end: JobEnd): Promise<void> {
    const { payer, progress } = this.job;
    await this.#kind.clear?.({ payer, progress, end }).catch(this.#proven.away);
  }

  #leftMs(): number {
    const { clock } = this.#deps;
    return Math.max(0, this.job.createdAtMs + this.#kind.msMax - clock.epochMs());
  }

  /** Runs the kind, and records its end before anything is paid. */
  async #decide(): Promise<void> {
    const leftMs = this.#leftMs();
    const { graceMs = GRACE_MS } = this.#kind;
    const late = setTimeout(() => this.#stop.abort(), leftMs);
    const { promise: overdue, reject } = Promise.withResolvers<never>();
    let hard: NodeJS.Timeout | undefined;
    const told = () => {
      hard = setTimeout(() => reject(new Error(`the job ${this.id} did not end in its time`)), graceMs);
    };
    if (this.signal.aborted) told();
    else this.signal.addEventListener("abort", told, { once: true });
    let end: JobEnd;
    try {
      end = await Promise.race([this.#work(), overdue]);
    } catch (error) {
      if (this.#proven.isLost || error instanceof LeaseLost) throw new LeaseLost();
      // The work did not fail: it continues from the last save once the store is back.
      if (this.#proven.wasAway) throw error;
      if (!(error instanceof NoLongerPaid)) this.#deps.onBroken(error, this.id);
      end = FAILED;
    } finally {
      this.signal.removeEventListener("abort", told);
      clearTimeout(late);
      clearTimeout(hard);
      this.#stop.abort();
    }
    // Calls that it did not wait for end now; their cost is a leg of the job.
    await this.#calls.ended();
    if (this.#proven.isLost) throw new LeaseLost();
    this.#proven.note({ state: "ending", end: this.#payable(end) });
    await this.#proven.prove();
  }

  async #work(): Promise<JobEnd> {
    const { adoptions = 0 } = this.job;
    if (adoptions <= ADOPTIONS_MAX) return this.#kind.run(this);
    await this.#kind.abandon?.(this.id).catch(this.#proven.away);
    throw new Error(`the job ${this.id} was adopted ${adoptions} times without coming a step further`);
  }

  /** Adds the charge. A stopped job is charged for its work up to that point, whatever the result. */
  #payable(end: JobEnd): JobEnd {
    const { amountNano } = this.job;
    if (this.#stopped !== null) {
      const done = end.stopped === undefined ? this.spend.spentNano : end.chargeNano;
      return { ...end, status: "failed", chargeNano: least(done, amountNano), stopped: this.#stopped };
    }
    const chargeNano = end.status === "succeeded" ? least(end.chargeNano, amountNano) : ZERO;
    return { ...end, chargeNano, ...(this.#cancelledAtMs === null ? {} : { cancelled: true as const }) };
  }

  /** Pays the recorded end, exactly once however often it is tried, and records that. */
  async #settle(): Promise<void> {
    const { chargedCents: before } = this.job;
    const cents = await payJob(this.job, this.#deps);
    // An unpaid result is not delivered, unless earlier holds have paid for parts of it.
    const isUnpaid = cents === null && this.#kind.outlivesHold !== true;
    await this.#clear(isUnpaid ? FAILED : (this.job.end ?? FAILED));
    if (isUnpaid) this.#proven.note({ state: "failed", end: FAILED });
    else this.#proven.note({ state: this.job.end?.status ?? "failed", chargedCents: before + (cents ?? 0) });
    await this.#proven.prove();
  }
}
