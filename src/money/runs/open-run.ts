// A run as its calls see it: its bounds, what is left, and what its rules say at this point.
import type { PeriodSums } from "../../core/account-rows.ts";
import { add, least, minus, type Nano, nano, ZERO } from "../../core/money.ts";
import type { Caller } from "../../core/plan.ts";
import type { CallRun } from "../../core/run.ts";
import { RUN_MARKS } from "../ledger/model/window-list.ts";
import type { RunRecord } from "./run-record.ts";

/** What a run does beyond itself. */
interface Keeper {
  passedMark(accountId: string, id: string): void;
  larger(run: OpenRun): Promise<OpenRun | null>;
}

export class OpenRun implements CallRun {
  readonly id: string;
  readonly record: RunRecord;
  readonly budgetNano: Nano;
  readonly bounds: CallRun["bounds"];
  /** The run that was stopped, of it and its ancestors; null: none. */
  readonly stoppedId: string | null;
  readonly expiresAtMs: number;
  /** Its own sums, with those of the runs below it, when it was read. */
  readonly spentNano: Nano;
  readonly heldNano: Nano;
  readonly absorbedNano: Nano;
  leftNano: Nano;
  readonly #keeper: Keeper;
  /** Callers whose calls are part of it, by their callers outside. */
  readonly #callers = new WeakMap<Caller, { readonly plain: Caller; readonly lowered: Caller }>();

  /** `lineage`: the run and its ancestors, with their sums. */
  constructor(lineage: readonly RunRecord[], sums: readonly PeriodSums[], keeper: Keeper) {
    const [record] = lineage;
    if (record === undefined) throw new Error("a run has a record");
    this.record = record;
    this.id = record.id;
    this.budgetNano = record.budgetNano;
    this.bounds = lineage.map(({ id, budgetNano }) => ({ runId: id, maxNano: budgetNano }));
    this.stoppedId = lineage.find(({ stoppedAtMs }) => stoppedAtMs !== null)?.id ?? null;
    this.expiresAtMs = Math.min(...lineage.map(({ expiresAtMs }) => expiresAtMs));
    const used = sums.map(({ spentNano, absorbedNano }) => add(spentNano, absorbedNano));
    this.spentNano = sums[0]?.spentNano ?? ZERO;
    this.heldNano = sums[0]?.heldNano ?? ZERO;
    this.absorbedNano = sums[0]?.absorbedNano ?? ZERO;
    this.leftNano = lineage
      .map(({ budgetNano }, at) => minus(budgetNano, least(budgetNano, used[at] ?? ZERO)))
      .reduce(least);
    this.#keeper = keeper;
  }

  /** The used percentage of its budget; an ancestor with less left counts too. */
  get usedPercent(): number {
    return 100 - (100 * this.leftNano) / Math.max(1, this.budgetNano);
  }

  /** The mark to report to its model; 0: none. */
  get noticeDue(): number {
    const { rules, noticedAt } = this.record;
    const { noticeAt } = rules;
    if (noticeAt === null) return 0;
    const due = RUN_MARKS.filter((mark) => mark >= noticeAt && mark > noticedAt && this.usedPercent >= mark);
    return due.at(-1) ?? 0;
  }

  learn(leftNano: Nano): void {
    this.leftNano = nano(leftNano);
  }

  marked(): void {
    this.#keeper.passedMark(this.record.accountId, this.id);
  }

  larger(): Promise<CallRun | null> {
    return this.#keeper.larger(this);
  }

  callerIn(caller: Caller): Caller {
    let known = this.#callers.get(caller);
    if (known === undefined) {
      const plain = { ...caller, run: this, payer: { ...caller.payer, runId: this.id } };
      const lowerings = [...(caller.lowerings ?? []), { untilMs: Number.POSITIVE_INFINITY }];
      known = { plain, lowered: { ...plain, lowerings } };
      this.#callers.set(caller, known);
    }
    const { lowerAt } = this.record.rules;
    return lowerAt !== null && this.usedPercent >= lowerAt ? known.lowered : known.plain;
  }
}
