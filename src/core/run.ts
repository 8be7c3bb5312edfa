// A run: a budget over models and actions, as calls see it.
import type { Nano } from "./money.ts";

/** The ids of runs; a path keeps each of them as it is. */
export const RUN_ID = /^(?!\.{1,2}$)[\w.:-]{1,64}$/;

/** What happens when a run has used a percentage of its budget: 50, 80 or 95; null: nothing. */
export interface RunRules {
  /** A sentence for the model, at this mark and the ones above. */
  readonly noticeAt: number | null;
  /** One tier below serves its calls. */
  readonly lowerAt: number | null;
  /** Calls that no longer fit wait `askSeconds` for a larger budget. */
  readonly askAt: number | null;
  readonly askSeconds: number;
  readonly stopAt: number | null;
}

/** The run of a call: a budget over models and actions alike. */
export interface CallRun {
  readonly id: string;
  readonly budgetNano: Nano;
  /** Its budget and its ancestors', its own first. */
  readonly bounds: readonly { readonly runId: string; readonly maxNano: Nano }[];
  /** The least that it and its ancestors have not spent, as the ledger last said. */
  readonly leftNano: Nano;
  learn(leftNano: Nano): void;
  /** A charge passed a mark of it or of an ancestor. */
  marked(): void;
  /** Waits for a larger budget, where its rules say so; null: there is none. */
  larger(): Promise<CallRun | null>;
}
