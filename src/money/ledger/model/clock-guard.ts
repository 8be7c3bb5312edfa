// The ledger's clock. It distrusts a system clock that leaps forward, because a leap would open new windows.
const MINUTE_MS = 60_000;
/** The most by which the system clock may run ahead of elapsed time before it is distrusted. */
const LEAP_MS_MAX = 5 * MINUTE_MS;
/** A leap that lasts this long is trusted: an operator corrected the clock, or the machine slept. */
const BELIEVED_AFTER_MS = MINUTE_MS;

/** `skewed`: the clock has leapt, so new holds are refused; running ones settle by elapsed time. */
export function guardClock() {
  let offsetMs: number | null = null;
  let leap: { readonly offsetMs: number; readonly sinceMs: number } | null = null;
  return (epochMs: number, elapsedMs: number) => {
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
