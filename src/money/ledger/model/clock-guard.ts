// Decides what time it is for money: a clock that leaps forward is not believed at once, or it would open new windows.
const MINUTE_MS = 60_000;
/** A leap beyond this much more than the time that really passed is refused at first. */
const LEAP_MS_MAX = 5 * MINUTE_MS;
/** A leap that the clock has kept for so long is believed: an operator set it right, or the machine had slept. */
const BELIEVED_AFTER_MS = MINUTE_MS;

export interface GuardedTime {
  readonly nowMs: number;
  /** The clock has leapt: new holds are refused, running ones settle by the time that should be. */
  readonly skewed: boolean;
}

/** Watches a clock by its two hands: the one people set, and the one that only goes forward. */
export function guardClock(): (epochMs: number, elapsedMs: number) => GuardedTime {
  let offsetMs: number | null = null;
  let leap: { readonly offsetMs: number; readonly sinceMs: number } | null = null;
  return (epochMs, elapsedMs) => {
    const offset = epochMs - elapsedMs;
    if (offsetMs === null || offset - offsetMs <= LEAP_MS_MAX) {
      leap = null;
      offsetMs = offset;
      return { nowMs: epochMs, skewed: false };
    }
    if (leap === null || Math.abs(offset - leap.offsetMs) > LEAP_MS_MAX)
      leap = { offsetMs: offset, sinceMs: elapsedMs };
    if (elapsedMs - leap.sinceMs < BELIEVED_AFTER_MS) return { nowMs: Math.floor(offsetMs + elapsedMs), skewed: true };
    leap = null;
    offsetMs = offset;
    return { nowMs: epochMs, skewed: false };
  };
}
