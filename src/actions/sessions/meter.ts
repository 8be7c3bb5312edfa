// A session's cost up to a moment: started minutes at the rate of its size, never above the caller's maximum.
import { least, minus, minutesAt, most, type Nano, nanoFromCents } from "../../core/money.ts";

export const MINUTE_MS = 60_000;
/** The first hold covers this much. */
const FIRST_MINUTES = 30;
const FIRST_CENTS_MIN = 5;
/** Later holds cover this many minutes beyond the one that begins. */
const AHEAD_MINUTES = FIRST_MINUTES - 1;
/** A hold is never older, so that spending counts in the right window of a ceiling. */
const HOLD_MINUTES_MAX = 60;
const DAY_MS = 86_400_000;

/** Stored with its job, so that a later price change does not affect it. */
export interface SessionRates {
  readonly centsPerHour: number;
  readonly upstreamCentsPerHour: number;
  readonly minutesMax: number;
  /** The most that it may ever cost; null: the cost of all its minutes. */
  readonly maxCostNano: Nano | null;
}

/** Started minutes, at least one. */
export function startedMinutes(ms: number): number {
  return Math.max(1, Math.ceil(ms / MINUTE_MS));
}

export function costOf({ centsPerHour, maxCostNano }: SessionRates, minutes: number): Nano {
  const cost = minutesAt(nanoFromCents(centsPerHour), minutes);
  return maxCostNano === null ? cost : least(cost, maxCostNano);
}

export function firstHold(rates: Omit<SessionRates, "maxCostNano">): Nano {
  const perHour = nanoFromCents(rates.centsPerHour);
  const whole = minutesAt(perHour, rates.minutesMax);
  return least(whole, most(minutesAt(perHour, FIRST_MINUTES), nanoFromCents(FIRST_CENTS_MIN)));
}

/** The amount of the current hold, where all holds together must pay for this many minutes. */
export function holdFor(rates: SessionRates, minutes: number, postedNano: Nano): Nano {
  const ahead = Math.min(minutes + AHEAD_MINUTES, Math.max(minutes, rates.minutesMax));
  return minus(costOf(rates, ahead), postedNano);
}

/** Whether another minute would exceed the caller's maximum. */
export function isBeyond({ centsPerHour, maxCostNano }: SessionRates, minutes: number): boolean {
  return maxCostNano !== null && minutesAt(nanoFromCents(centsPerHour), minutes) > maxCostNano;
}

/** Whether a hold is an hour old, or from yesterday (UTC). */
export function isDue(sinceMs: number, nowMs: number): boolean {
  if (nowMs - sinceMs >= HOLD_MINUTES_MAX * MINUTE_MS) return true;
  return Math.floor(nowMs / DAY_MS) !== Math.floor(sinceMs / DAY_MS);
}
