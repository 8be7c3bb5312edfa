// Decides when an account's holds are computed from bytes: when its calls overran their holds too often in one day.
import { NANO_PER_CENT } from "../../../core/money.ts";

/** A call overruns its hold if it costs this much more; smaller differences come from counting and pricing. */
const OVERRUN_NANO = NANO_PER_CENT;
/** Per UTC day. */
const OVERRUNS_MAX = 3;

/** How often an account's calls overran their holds. */
export interface Overruns {
  /** Holds are computed from bytes until an operator clears this. */
  strictBounds: boolean;
  /** Overruns on `overrunDay`; earlier days are forgotten. */
  overruns: number;
  overrunDay: number | null;
}

/** Counts the absorbed amount of a posting on `day`; returns whether it was an overrun. */
export function countOverrun(account: Overruns, absorbed: number, day: number): boolean {
  if (absorbed <= OVERRUN_NANO) return false;
  account.overruns = account.overrunDay === day ? account.overruns + 1 : 1;
  account.overrunDay = day;
  if (account.overruns >= OVERRUNS_MAX) account.strictBounds = true;
  return true;
}

/** Sets the flag for an operator. Once cleared, it takes as many overruns as the first time to set it again. */
export function setStrictBounds(account: Overruns, strictBounds: boolean): void {
  account.strictBounds = strictBounds;
  if (!strictBounds) account.overruns = 0;
}
