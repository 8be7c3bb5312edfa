// Time, as the rest of the gateway sees it: one clock that tests can replace.

export interface Clock {
  /** Milliseconds since the epoch, always whole, for windows, expiry and what people read. */
  epochMs(): number;
  /** Milliseconds that only go forward, with fractions, for durations and deadlines. */
  elapsedMs(): number;
}

export const systemClock: Clock = {
  epochMs: () => Date.now(),
  elapsedMs: () => performance.now(),
};

/** The same for what processes of one machine count together: how far it has come is the same in each of them. */
export const machineClock: Clock = {
  epochMs: () => Date.now(),
  elapsedMs() {
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1_000 + nanoseconds / 1_000_000;
  },
};

/** A clock that is set once, now: setting the other one later, forward or back, does not change how old anything is. */
export function steadyClock(clock: Clock): Clock {
  const startMs = clock.epochMs() - clock.elapsedMs();
  return { epochMs: () => Math.floor(startMs + clock.elapsedMs()), elapsedMs: () => clock.elapsedMs() };
}

const FRACTION_MS = 1 / 1_024;

/** A clock that stands still until it is told to move. */
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
      // A clock is never set on the millisecond, so times made of the other one have a fraction from now on.
      elapsedMs += FRACTION_MS;
    },
  };
}

/** Resolves after a while, or as soon as the signal is aborted. It keeps no process alive. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const over = () => {
    clearTimeout(timer);
    signal.removeEventListener("abort", over);
    resolve();
  };
  const timer = setTimeout(over, ms).unref();
  signal.addEventListener("abort", over, { once: true });
  if (signal.aborted) over();
  return promise;
}
