// A batch, as a job: reads and bounds all lines, then runs them part by part, and ends with files of results. The gateway's own calls have
// a hold and a posting for each part. What a provider runs has one hold and one posting, so no other call can take its money in between.
// Everything that it has done is stored before it is paid for, so that any process can continue.
import {
  type JobEnd,
  type JobKind,
  LeaseLost,
  type NotHeld,
  type RunningJob,
  type Served,
} from "../../catalog/job-kind.ts";
import { type Clock, pause } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import { add, centsUp, minus, type Nano, ZERO } from "../../core/money.ts";
import { NO_USAGE } from "../../core/token-usage.ts";
import type { BatchFiles } from "../files/batch-files.ts";
import { type BatchPlaces, runPart } from "./batch-part.ts";
import {
  BATCH_JOB,
  type BatchProgress,
  type BatchResult,
  type BatchStart,
  batchIdOf,
  KEPT_MS,
  type Part,
  type StopReason,
  WINDOW_MS,
} from "./batch-record.ts";
import { BatchResults } from "./batch-results.ts";
import type { LeftFiles } from "./left-files.ts";
import type { LineCalls } from "./line-calls.ts";
import type { LineIndex } from "./line-index.ts";
import type { NativeAnswers } from "./native-answers.ts";
import { type BatchVendors, NativeBatch } from "./native-batch.ts";
import { readInput } from "./read-input.ts";
import { stoppedLine } from "./result-lines.ts";

/** The most lines that share a hold and a posting. */
const PART_LINES_MAX = 500;
/** A batch expires on its own; this is for one that does not. */
const MS_MAX = WINDOW_MS + 2 * 3_600_000;
/** How long a stopped batch may take to get a provider's answers, and to write its results. */
const GRACE_MS = 2 * 3_600_000;
/** Another call of the account may hold the money for a moment. */
const HOLD_TRIES = 3;
const HOLD_AGAIN_MS = 400;

export interface BatchDeps {
  readonly files: BatchFiles;
  readonly calls: LineCalls;
  readonly places: BatchPlaces;
  readonly clock: Clock;
  readonly vendors: BatchVendors;
  readonly left: Pick<LeftFiles, "add">;
  /** The account's balance that no hold takes. */
  free(accountId: string): Promise<Nano>;
  onBroken(error: unknown, jobId: string): void;
  /** Counts finished lines. */
  onLines(outcome: "completed" | "failed", count: number): void;
}

const NOTHING: BatchProgress = {
  state: "validating",
  done: 0,
  total: 0,
  failed: 0,
  refused: 0,
  spentNano: ZERO,
  spentCents: 0,
  boundNano: ZERO,
  affordable: 0,
  index: null,
  next: 0,
  part: null,
  native: null,
  usage: NO_USAGE,
  outputs: [],
  errors: [],
  stop: null,
  refusedTo: 0,
  inProgressAtMs: null,
  finalizingAtMs: null,
};

const REFUSALS: Readonly<Record<StopReason, GatewayError>> = {
  no_money: new GatewayError("insufficient_balance", { detail: { needed_usd: "more", free_usd: "too little" } }),
  key_revoked: new GatewayError("invalid_token", { detail: "The key of this batch was revoked." }),
  key_paused: new GatewayError("key_paused"),
  account_frozen: new GatewayError("account_frozen"),
  max_cost: new GatewayError("max_cost_exceeded", { detail: { needed_usd: "more" }, param: "max_cost_cents" }),
  cancelled: new GatewayError("conflict", { detail: "The batch was cancelled before this line ran." }),
  expired: new GatewayError("conflict", { detail: "The batch expired before this line ran." }),
  unanswered: new GatewayError("upstream_error", { detail: "the provider's batch has no answer to this line" }),
};

/** The lines from somewhere up to `to`, and what they can cost. */
interface HeldLines {
  readonly to: number;
  readonly boundNano: Nano;
}

/** One batch, while it runs in this process. */
export class BatchRun {
  readonly job: RunningJob;
  readonly deps: BatchDeps;
  readonly start: BatchStart;
  readonly accountId: string;
  readonly results: BatchResults;
  progress: BatchProgress;
  /** What a provider's batch API has answered; null: no answers, or not yet. */
  answers: NativeAnswers | null = null;

  constructor(job: RunningJob, deps: BatchDeps) {
    this.job = job;
    this.deps = deps;
    this.start = job.start as BatchStart;
    this.accountId = job.payer.id.slice("acct:".length);
    this.progress = (job.progress as BatchProgress | null) ?? NOTHING;
    this.results = new BatchResults(this);
  }

  get expiresAtMs(): number {
    return this.start.createdAtMs + WINDOW_MS;
  }

  /** Why no further line may start; null: it may. */
  get stop(): StopReason | null {
    const { job, deps } = this;
    // What the provider has done is paid for, whatever happened since.
    if (this.answers !== null) return this.#isCovered ? null : (this.progress.stop ?? "no_money");
    if (job.cancelledAtMs !== null) return "cancelled";
    if (deps.clock.epochMs() >= this.expiresAtMs || job.signal.aborted) return "expired";
    return this.progress.stop;
  }

  /** What all that a provider runs can cost, or else the open part. */
  get #owedNano(): Nano {
    const { native, part } = this.progress;
    return native?.heldNano ?? (part === null || this.#isPosted(part) ? ZERO : part.boundNano);
  }

  get #isCovered(): boolean {
    return this.job.holding.amountNano >= this.#owedNano;
  }

  /** Another process runs the batch from here on. */
  get isLost(): boolean {
    const { job, deps } = this;
    return job.signal.aborted && job.cancelledAtMs === null && deps.clock.epochMs() < this.expiresAtMs;
  }

  /** Throws where this process no longer runs the batch: then nothing of what it does may be stored. */
  async save(changes: Partial<BatchProgress>): Promise<void> {
    this.progress = { ...this.progress, ...changes };
    const { part } = this.progress;
    const spent = add(this.job.holding.postedNano, part === null || this.#isPosted(part) ? ZERO : part.nano);
    this.progress = { ...this.progress, spentNano: spent, spentCents: centsUp(spent) };
    await this.job.save(this.progress);
  }

  #isPosted({ paidBeforeNano }: Part): boolean {
    return this.job.holding.postedNano > paidBeforeNano;
  }

  async toEnd(): Promise<JobEnd> {
    const { job } = this;
    await this.save({});
    if (this.progress.state === "validating") {
      const failed = await readInput(this);
      if (failed !== null) return this.#end({ status: "failed", errors: [failed] });
    }
    const index = await this.results.index();
    const isPaying = this.progress.state === "in_progress";
    const native = isPaying && this.progress.native != null ? new NativeBatch(this, index) : null;
    const isOwed = native === null ? this.progress.stop === null : job.holding.postedNano === ZERO;
    if (isPaying && isOwed && !(job.holding.isHeld && this.#isCovered)) await this.#rehold();
    this.answers = (await native?.answers()) ?? null;
    while (this.progress.state === "in_progress" && this.stop === null) {
      const part = await this.#open(index);
      if (part === null || !(await runPart(this, index))) break;
      if (native === null) await this.#post(index);
      else await this.save({ next: part.to });
    }
    if (this.isLost) throw new LeaseLost();
    if (this.progress.state !== "finalizing") await this.#refuseRest(index);
    return this.#finish();
  }

  /** The hold of the batch ended without it, or an earlier run was interrupted here: holds again for what is owed. */
  async #rehold(): Promise<void> {
    const { job } = this;
    const nano = this.#owedNano;
    for (let tries = 1; ; tries++) {
      const refused =
        (job.holding.isHeld ? null : await job.succeed(ZERO, ZERO, this.#served(null))) ??
        (await job.extend(nano, ZERO));
      if (refused === null) return;
      if (refused !== "no_money" || tries >= HOLD_TRIES) return this.save({ stop: refused });
      await pause(HOLD_AGAIN_MS, job.signal);
    }
  }

  /** The open part, or the next one with its money held. Null: no line is left, or the balance is too small. */
  async #open(index: LineIndex): Promise<Part | null> {
    const { next, part: last, native } = this.progress;
    if (last !== null && next < last.to) return last;
    if (next >= index.count) return null;
    const held =
      this.answers === null
        ? await this.hold(index, next, ZERO)
        : { ...this.#upTo(index, next, PART_LINES_MAX, null), boundNano: native?.heldNano ?? ZERO };
    if (typeof held === "string") {
      await this.save({ stop: held });
      return null;
    }
    const { to, boundNano } = held;
    // The last part is still here if its posting is to come: then this one adds to its sums.
    const unposted = last ?? { paidBeforeNano: this.job.holding.postedNano, nano: ZERO, usage: NO_USAGE, legs: [] };
    const part = { ...unposted, from: next, to, boundNano, done: [] };
    await this.save({ part });
    return part;
  }

  /** Holds for the next lines, as many as the money pays for, beside what is held for others. Or returns why it cannot. */
  async hold(index: LineIndex, from: number, besideNano: Nano): Promise<HeldLines | NotHeld | "max_cost"> {
    const { job, start } = this;
    const usedNano = add(job.holding.postedNano, besideNano);
    const leftNano = start.maxCostNano === null ? null : minus(start.maxCostNano, usedNano);
    for (let linesMax = PART_LINES_MAX, tries = 1; ; ) {
      const { to, boundNano, lines } = this.#upTo(index, from, linesMax, leftNano);
      if (lines === 0 && to < index.count) return "max_cost";
      const refused: NotHeld | null = lines === 0 ? null : await job.extend(add(besideNano, boundNano), ZERO);
      if (refused === null) return { to, boundNano };
      if (refused !== "no_money") return refused;
      if (lines > 1) linesMax = Math.ceil(lines / 2);
      else if (tries++ >= HOLD_TRIES) return "no_money";
      else await new Promise((resolve) => setTimeout(resolve, HOLD_AGAIN_MS));
    }
  }

  /** Whether the line can still be charged: it runs, and has an answer where a provider has run the batch. */
  isDue(index: LineIndex, at: number): boolean {
    return index.bound(at) !== null && this.answers?.has(at) !== false;
  }

  /** The end of a part that begins at `from`, and what its lines can cost; lines that do not run count as none. */
  #upTo(index: LineIndex, from: number, linesMax: number, leftNano: Nano | null): HeldLines & { lines: number } {
    let boundNano = ZERO;
    let lines = 0;
    let to = from;
    for (; to < index.count && lines < linesMax; to++) {
      const bound = this.isDue(index, to) ? index.bound(to) : null;
      if (bound === null) continue;
      if (leftNano !== null && add(boundNano, bound) > leftNano) break;
      boundNano = add(boundNano, bound);
      lines += 1;
    }
    return { to, boundNano, lines };
  }

  /** Charges a finished part, and places an empty hold for the next ones. A posted part is only closed. */
  async #post(index: LineIndex): Promise<void> {
    const { part } = this.progress;
    if (part === null) return;
    const served = this.#served(part);
    // A part without a cost leaves its hold to the next one.
    const isDue = add(part.nano, served.upstreamNano) > ZERO && !this.#isPosted(part);
    const refused = isDue && this.job.holding.isHeld ? await this.job.succeed(part.nano, ZERO, served) : null;
    // Once all lines have run, no further hold is needed.
    const stop = part.to < index.count ? refused : null;
    await this.save({ part: null, next: part.to, ...(stop === null ? {} : { stop }) });
  }

  #served(part: Part | null): Served {
    const legs = part?.legs ?? [];
    const upstreamNano = legs.reduce((sum, leg) => add(sum, leg.upstreamNano), ZERO);
    const [first, ...others] = [...new Set(legs.filter(({ ok }) => ok).map(({ model }) => model))];
    const [vendor, ...vendors] = [...new Set(legs.filter(({ ok }) => ok).map(({ vendor: name }) => name))];
    return {
      provider: vendor === undefined || vendors.length > 0 ? "tollgate" : vendor,
      action: first === undefined || others.length > 0 ? BATCH_JOB : first,
      upstreamNano,
      usage: part?.usage ?? NO_USAGE,
      legs,
    };
  }

  /** Writes an error line for each line that did not run. */
  async #refuseRest(index: LineIndex): Promise<void> {
    const { part, next } = this.progress;
    const reason = this.#restReason(index);
    const done = new Set(part?.done);
    const from = part?.from ?? next;
    if (reason !== null) {
      const id = `batch_req_${this.job.id.slice(4)}`;
      await this.save({ stop: reason });
      await this.results.refuse(
        index,
        (at) => this.answers?.has(at) === false || (at >= from && !done.has(at)),
        ({ customId, at }) => {
          const why = this.#moneyStop(at) ?? reason;
          return stoppedLine(this.start, { customId, id: `${id}_${at + 1}`, error: REFUSALS[why] }, why);
        },
      );
    }
    await this.#post(index);
    await this.save({
      state: "finalizing",
      stop: reason,
      next: index.count,
      finalizingAtMs: this.deps.clock.epochMs(),
    });
  }

  /** Why the money did not reach this line of a batch that a provider ran; null: it did. */
  #moneyStop(at: number): StopReason | null {
    const { native } = this.progress;
    return native != null && at >= native.heldTo ? native.stop : null;
  }

  /** Why lines are left without results; null: there are none. */
  #restReason(index: LineIndex): StopReason | null {
    const { native, next, stop } = this.progress;
    if (native == null) return this.stop;
    if (this.job.cancelledAtMs !== null) return "cancelled";
    const isAnswered = (_: unknown, at: number) => index.bound(at) === null || this.isDue(index, at);
    if (next >= index.count && Array.from({ length: index.count }, isAnswered).every(Boolean)) return null;
    if (stop !== null) return stop;
    const isExpired = native.batches?.some(({ end }) => end?.status === "expired") === true;
    if (isExpired || this.deps.clock.epochMs() >= this.expiresAtMs) return "expired";
    return native.stop ?? "unanswered";
  }

  async #finish(): Promise<JobEnd> {
    const { job, start, deps } = this;
    const { stop } = this.progress;
    const isCompleted = stop === null || stop === "unanswered";
    const status = isCompleted ? "completed" : stop === "cancelled" ? "cancelled" : "expired";
    const outputs = await this.results.keep();
    // Its creator can neither see nor delete the requests, which take up quota.
    const dropInput = async () => {
      const input = await deps.files.find(job.payer.id, start.inputId);
      if (input !== null) await deps.files.delete(input);
    };
    if (start.wire === "messages") await job.stored(dropInput);
    return this.#end({ status, ...outputs });
  }

  #end(result: Pick<BatchResult, "status"> & Partial<BatchResult>): JobEnd {
    const { job, start } = this;
    const whole: BatchResult = {
      batch_id: batchIdOf(job.id, start.wire),
      endedAtMs: this.deps.clock.epochMs(),
      output_file_id: null,
      error_file_id: null,
      errors: [],
      ...result,
    };
    return {
      status: result.status === "failed" ? "failed" : "succeeded",
      result: whole,
      // Each part was charged when it ended.
      chargeNano: ZERO,
      keptMs: KEPT_MS,
    };
  }
}

export function batchKind(deps: BatchDeps): JobKind {
  return {
    name: BATCH_JOB,
    msMax: MS_MAX,
    counted: "price",
    outlivesHold: true,
    graceMs: GRACE_MS,
    run: (job) => new BatchRun(job, deps).toEnd(),
    /** The files of its results stay; what they were made of goes, here and at the provider. */
    async clear({ payer, progress }) {
      const { index = null, outputs = [], errors = [], native = null } = (progress ?? {}) as Partial<BatchProgress>;
      const inputs = native?.batches?.flatMap(({ input }) => input) ?? [];
      const { segments = [], places = null } = native?.answers ?? {};
      for (const segment of [index, ...outputs, ...errors, ...inputs, ...segments, places])
        if (segment !== null) await deps.files.dropSegment(segment.id);
      if (native !== null) await deps.left.add(native, payer.sandbox, Math.floor(deps.clock.epochMs()));
    },
  };
}
