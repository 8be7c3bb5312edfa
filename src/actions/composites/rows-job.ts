// A job whose result is rows, each stored when it is finished: tracks their costs, and ends the job with them.
import { CANCELLED, type JobEnd, NoLongerPaid, type RunningJob, type Stopped } from "../../catalog/job-kind.ts";
import { centsDown, nanoFromCents, ZERO } from "../../core/money.ts";
import { inOrder, type Places } from "../../core/places.ts";
import type { JobRows } from "../../platform/records/job-rows.ts";
import { StepBudget } from "./step-budget.ts";

/** Why a job must end with the results so far; null where it may continue. */
export function endedBy({ aborted, reason }: AbortSignal): "timeout" | "cancelled" | null {
  if (!aborted) return null;
  return reason === CANCELLED ? "cancelled" : "timeout";
}

/** A failed job; nothing is charged. */
export function failed(error: string, message: string): JobEnd {
  return { status: "failed", result: { error, message }, chargeNano: ZERO };
}

const ROWS_AT_ONCE = 8;

/** What is stored of a finished row: enough to end the job without reading the row. */
export interface RowDone {
  readonly name: string;
  readonly cents: number;
}

interface Progress<Done> {
  readonly done: number;
  readonly total: number;
  /** By the row's index. */
  readonly rows: Readonly<Record<string, Done>>;
}

export interface RowsDeps {
  readonly rows: JobRows;
  readonly places: Places;
}

/** One job, which resumes from its stored progress. `Before` is its state from before the rows. */
export class RowsJob<Done extends RowDone, Before extends object> {
  readonly budget: StepBudget;
  /** Why it is no longer paid; null where it is. */
  stopped: Stopped | null = null;
  readonly #job: RunningJob;
  readonly #deps: RowsDeps;
  readonly #beforeCents: (before: Before) => number;
  #progress: Progress<Done> & Before;

  constructor(job: RunningJob, deps: RowsDeps, none: Before, beforeCents: (before: Before) => number) {
    this.#job = job;
    this.#deps = deps;
    this.#beforeCents = beforeCents;
    this.#progress = (job.progress as (Progress<Done> & Before) | null) ?? { done: 0, total: 0, rows: {}, ...none };
    // A step that was in progress when a process died is in no row: it is repeated, and paid once.
    this.budget = new StepBudget(centsDown(job.spend.limitNano), this.spentCents);
  }

  get before(): Before {
    return this.#progress;
  }

  get done(): readonly Done[] {
    return Object.values(this.#progress.rows);
  }

  get spentCents(): number {
    return this.done.reduce((sum, { cents }) => sum + cents, this.#beforeCents(this.#progress));
  }

  count(is: (row: Done) => boolean): number {
    return this.done.filter(is).length;
  }

  /** Works on all unfinished rows, a few at a time; payers take turns. */
  async each<Task>(tasks: readonly Task[], work: (task: Task, at: number) => Promise<void>): Promise<void> {
    const open = tasks.map((task, at) => ({ task, at })).filter(({ at }) => this.#progress.rows[at] === undefined);
    await this.save(null, { total: tasks.length });
    const { places } = this.#deps;
    await inOrder(open, ROWS_AT_ONCE, ({ task, at }) => places.run(this.#job.payer.id, () => work(task, at)));
  }

  /** Runs a step; returns `instead` where it would not be paid. Rejects where another process runs the job by now. */
  async paid<Result>(step: () => Promise<Result>, instead: Result): Promise<Result> {
    if (this.stopped !== null) return instead;
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof NoLongerPaid)) throw error;
      this.stopped = error.why;
      return instead;
    }
  }

  /** Stores a row's content, and returns the name to read it by. */
  put(told: object): Promise<string> {
    return this.#job.stored(() => this.#deps.rows.put(this.#job.payer.id, told));
  }

  read(name: string): Promise<readonly unknown[] | null> {
    return this.#job.stored(() => this.#deps.rows.read([name]));
  }

  keep(done: Done, at: number): Promise<void> {
    const rows = { ...this.#progress.rows, [at]: done };
    return this.save(null, { rows, done: Object.keys(rows).length });
  }

  async save(before: Partial<Before> | null, rows: Partial<Progress<Done>> = {}): Promise<void> {
    this.#progress = { ...this.#progress, ...before, ...rows };
    await this.#job.save({ ...this.#progress, spentCents: this.spentCents });
  }

  end(status: JobEnd["status"], chargeCents: number, result: object): JobEnd {
    return {
      status,
      result,
      rows: this.done.map(({ name }) => name),
      chargeNano: nanoFromCents(chargeCents),
      ...(this.stopped === null ? {} : { stopped: this.stopped }),
    };
  }
}
