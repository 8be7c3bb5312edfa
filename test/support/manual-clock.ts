// A clock that stands still until a test moves it.
import type { Clock } from "../../src/core/clock.ts";

const FRACTION_MS = 1 / 1_024;

export interface ManualClock extends Clock {
  advance(ms: number): void;
  setEpochMs(ms: number): void;
}

export function manualClock(startEpochMs: number): ManualClock {
  let epochMs = startEpochMs;
  let elapsedMs = 0;
  return {
    epochMs: () => epochMs,
    elapsedMs: () => elapsedMs,
    advance(ms) {
      epochMs += ms;
      elapsedMs += ms;
    },
    setEpochMs(ms) {
      epochMs = ms;
      // Real clocks are not set on the millisecond, so from now on times derived from the other clock have a fraction.
      elapsedMs += FRACTION_MS;
    },
  };
}
