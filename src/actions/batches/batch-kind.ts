// A batch, as a job: reads and bounds all lines, then runs them part by part, each under a hold and in its own posting, and ends with
// files of results. Everything that it has done is stored before it is paid for, so that any process can continue.
import {
  type JobEnd,
  type JobKind,
  LeaseLost,
  type NotHeld,
  type RunningJob,
  type Served,
} from "../../catalog/job-kind.ts";
import type { Clock } from "../../core/clock.ts";
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
import type { LineCalls } from "./line-calls.ts";
import type { LineIndex } from "./line-index.ts";
import { readInput } from "./read-input.ts";
import { stoppedLine } from "./result-lines.ts";

/** The most lines that share a hold and a posting. */
const PART_LINES_MAX = 500;
/** A batch expires on its own; this is for one that does not. */
const MS_MAX = WINDOW_MS + 2 * 3_600_000;
/** How long a stopped batch may take to write its results. */
const GRACE_MS = 900_000;
/** Another call of the account may hold the money for a moment. */
const HOLD_TRIES = 3;
const HOLD_AGAIN_MS = 400;

export interface BatchDeps {
  readonly files: BatchFiles;
  readonly calls: LineCalls;
  readonly places: BatchPlaces;
  readonly clock: Clock;
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
  key_revoked: new GatewayError("invalid_token", { detail: { detail: "The key of this batch was revoked." } }),
  key_paused: new GatewayError("key_paused"),
  account_frozen: new GatewayError("account_frozen"),
  max_cost: new GatewayError("max_cost_exceeded", { detail: { needed_usd: "more" }, param: "max_cost_cents" }),
  cancelled: new GatewayError("conflict", { detail: { detail: "The batch was cancelled before this line ran." } }),
  expired: new GatewayError("conflict", { detail: { detail: "The batch expired before this line ran." } }),
};

/** One batch, while it runs in this process. */
export class BatchRun {
  readonly job: RunningJob;
  readonly deps: BatchDeps;
  readonly start: BatchStart;
  readonly accountId: string;
  readonly results: BatchResults;
  progress: BatchProgress;

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
    if (job.cancelledAtMs !== null) return "cancelled";
    if (deps.clock.epochMs() >= this.expiresAtMs || job.signal.aborted) return "expired";
    return this.progress.stop;
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
    if (!job.holding.isHeld && this.progress.stop === null) await this.#rehold();
    while (this.progress.state === "in_progress" && this.stop === null) {
      const part = this.progress.part ?? (await this.#open(index));
      if (part === null) break;
      if (!(await runPart(this, index))) break;
      await this.#post();
    }
    if (this.isLost) throw new LeaseLost();
    if (this.progress.state !== "finalizing") await this.#refuseRest(index);
    return this.#finish();
  }

  /** The hold of the batch ended without it: holds again for what the interrupted part can cost. */
  async #rehold(): Promise<void> {
    const { job, progress } = this;
    const refused =
      (await job.succeed(ZERO, ZERO, this.#served(null))) ?? (await job.extend(progress.part?.boundNano ?? ZERO, ZERO));
    if (refused !== null) await this.save({ stop: refused });
  }

  /** Holds for the next part, as many lines as the money pays for. Null: there is none, or no money for it. */
  async #open(index: LineIndex): Promise<Part | null> {
    const { job, start } = this;
    const { next, stop } = this.progress;
    if (stop !== null || next >= index.count) return null;
    const paidBeforeNano = job.holding.postedNano;
    const leftNano = start.maxCostNano === null ? null : minus(start.maxCostNano, paidBeforeNano);
    for (let linesMax = PART_LINES_MAX, tries = 1; ; ) {
      const { to, boundNano, lines } = upTo(index, next, { linesMax, leftNano });
      if (lines === 0 && to < index.count) return this.#stopFor("max_cost");
      const refused: NotHeld | null = lines === 0 ? null : await job.extend(boundNano, ZERO);
      if (refused === null) {
        const part = { from: next, to, boundNano, paidBeforeNano, done: [], nano: ZERO, usage: NO_USAGE, legs: [] };
        await this.save({ part });
        return part;
      }
      if (refused !== "no_money") return this.#stopFor(refused);
      if (lines > 1) linesMax = Math.ceil(lines / 2);
      else if (tries++ >= HOLD_TRIES) return this.#stopFor("no_money");
      else await new Promise((resolve) => setTimeout(resolve, HOLD_AGAIN_MS));
    }
  }

  async #stopFor(stop: StopReason): Promise<null> {
    await this.save({ stop });
    return null;
  }

  /** Charges a finished part and opens an empty hold for the next one. A part that is posted already is only closed. */
  async #post(): Promise<void> {
    const { part } = this.progress;
    if (part === null) return;
    let refused: NotHeld | null = null;
    // A part without a cost leaves its hold to the next one.
    const served = this.#served(part);
    const isDue = add(part.nano, served.upstreamNano) > ZERO && !this.#isPosted(part);
    if (isDue && this.job.holding.isHeld) refused = await this.job.succeed(part.nano, ZERO, served);
    await this.save({ part: null, next: part.to, ...(refused === null ? {} : { stop: refused }) });
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
    const reason = this.stop;
    const done = new Set(part?.done);
    const from = part?.from ?? next;
    if (reason !== null) {
      const error = REFUSALS[reason];
      const id = `batch_req_${this.job.id.slice(4)}`;
      await this.save({ stop: reason });
      await this.results.refuse(
        index,
        (at) => at >= from && !done.has(at),
        ({ customId, at }) => stoppedLine(this.start, { customId, id: `${id}_${at + 1}`, error }, reason),
      );
    }
    await this.#post();
    await this.save({
      state: "finalizing",
      stop: reason,
      next: index.count,
      finalizingAtMs: this.deps.clock.epochMs(),
    });
  }

  async #finish(): Promise<JobEnd> {
    const { job, start, deps } = this;
    const { stop } = this.progress;
    const status = stop === null ? "completed" : stop === "cancelled" ? "cancelled" : "expired";
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

/** The end of a part that begins at `from`, and what its lines can cost; lines that do not run count as none. */
function upTo(
  index: LineIndex,
  from: number,
  { linesMax, leftNano }: { readonly linesMax: number; readonly leftNano: Nano | null },
): { readonly to: number; readonly boundNano: Nano; readonly lines: number } {
  let boundNano = ZERO;
  let lines = 0;
  let to = from;
  for (; to < index.count && lines < linesMax; to++) {
    const bound = index.bound(to);
    if (bound === null) continue;
    if (leftNano !== null && add(boundNano, bound) > leftNano) break;
    boundNano = add(boundNano, bound);
    lines += 1;
  }
  return { to, boundNano, lines };
}

export function batchKind(deps: BatchDeps): JobKind {
  return {
    name: BATCH_JOB,
    msMax: MS_MAX,
    counted: "price",
    outlivesHold: true,
    graceMs: GRACE_MS,
    run: (job) => new BatchRun(job, deps).toEnd(),
    /** The files of its results stay; what they were made of goes. */
    async clear({ progress }) {
      const { index = null, outputs = [], errors = [] } = (progress ?? {}) as Partial<BatchProgress>;
      for (const segment of [index, ...outputs, ...errors])
        if (segment !== null) await deps.files.dropSegment(segment.id);
    },
  };
}
