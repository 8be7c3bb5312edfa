// What a session has cost by a moment: started minutes at the price of its size, never above what its caller allows.
import { least, minus, minutesAt, most, type Nano, nanoFromCents } from "../../core/money.ts";

export const MINUTE_MS = 60_000;
/** The first hold pays for so much. */
const FIRST_MINUTES = 30;
const FIRST_CENTS_MIN = 5;
/** From then on so many are held beyond the one that begins. */
const AHEAD_MINUTES = FIRST_MINUTES - 1;
/** Ceilings count in the right window where no hold is older. */
const HOLD_MINUTES_MAX = 60;
const DAY_MS = 86_400_000;

/** Kept with its job: a price that changes later is another session's. */
export interface SessionRates {
  readonly centsPerHour: number;
  readonly upstreamCentsPerHour: number;
  readonly minutesMax: number;
  /** The most that it may ever cost; null: what all its minutes do. */
  readonly maxCostNano: Nano | null;
}

/** Started minutes, and never less than one. */
export function startedMinutes(ms: number): number {
  return Math.max(1, Math.ceil(ms / MINUTE_MS));
}

export function costOf({ centsPerHour, maxCostNano }: SessionRates, minutes: number): Nano {
  const cost = minutesAt(nanoFromCents(centsPerHour), minutes);
  return maxCostNano === null ? cost : least(cost, maxCostNano);
}

/** What its first hold is. */
export function firstHold(rates: Omit<SessionRates, "maxCostNano">): Nano {
  const perHour = nanoFromCents(rates.centsPerHour);
  const whole = minutesAt(perHour, rates.minutesMax);
  return least(whole, most(minutesAt(perHour, FIRST_MINUTES), nanoFromCents(FIRST_CENTS_MIN)));
}

/** What the present hold is to be, where so many minutes are to be paid by all of them together. */
export function holdFor(rates: SessionRates, minutes: number, postedNano: Nano): Nano {
  const ahead = Math.min(minutes + AHEAD_MINUTES, Math.max(minutes, rates.minutesMax));
  return minus(costOf(rates, ahead), postedNano);
}

/** Whether another minute is more than its caller allows. */
export function isBeyond({ centsPerHour, maxCostNano }: SessionRates, minutes: number): boolean {
  return maxCostNano !== null && minutesAt(nanoFromCents(centsPerHour), minutes) > maxCostNano;
}

/** Whether a hold has been there for an hour, or since yesterday (UTC). */
export function isDue(sinceMs: number, nowMs: number): boolean {
  if (nowMs - sinceMs >= HOLD_MINUTES_MAX * MINUTE_MS) return true;
  return Math.floor(nowMs / DAY_MS) !== Math.floor(sinceMs / DAY_MS);
}
