// When an account's holds are made from bytes: its calls have cost too much above their holds, too often in one day.
import { NANO_PER_CENT } from "../../../core/money.ts";

/** A call that costs more than this above its hold overruns it; less is what counting and pricing leave. */
const OVERRUN_NANO = NANO_PER_CENT;
/** On one UTC day. */
const OVERRUNS_MAX = 3;

/** How an account's calls have kept to their holds. */
export interface Overruns {
  /** Its holds are made from bytes, until an operator says otherwise. */
  strictBounds: boolean;
  /** Calls that have overrun their holds on `overrunDay`; an earlier day's are forgotten. */
  overruns: number;
  overrunDay: number | null;
}

/** Counts what a posting of `day` has absorbed; answers whether it counted. */
export function countOverrun(account: Overruns, absorbed: number, day: number): boolean {
  if (absorbed <= OVERRUN_NANO) return false;
  account.overruns = account.overrunDay === day ? account.overruns + 1 : 1;
  account.overrunDay = day;
  if (account.overruns >= OVERRUNS_MAX) account.strictBounds = true;
  return true;
}

/** An operator has said what the bounds are to be. Cleared, they are strict again after as many overruns as the first time. */
export function setStrictBounds(account: Overruns, strictBounds: boolean): void {
  account.strictBounds = strictBounds;
  if (!strictBounds) account.overruns = 0;
}
