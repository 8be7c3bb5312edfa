// The gateway's clock, which tests can replace.

export interface Clock {
  /** Whole milliseconds since the epoch: for windows, expiry, and people. */
  epochMs(): number;
  /** Monotonic milliseconds with fractions: for durations and deadlines. */
  elapsedMs(): number;
}

export const systemClock: Clock = { epochMs: () => Date.now(), elapsedMs: () => performance.now() };

/** A clock whose elapsed time is the same in all processes of a machine. */
export const machineClock: Clock = {
  epochMs: () => Date.now(),
  elapsedMs() {
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1_000 + nanoseconds / 1_000_000;
  },
};

/** A clock whose epoch time is read once, now: later changes of the system clock do not change anything's age. */
export function steadyClock(clock: Clock): Clock {
  const startMs = clock.epochMs() - clock.elapsedMs();
  return { epochMs: () => Math.floor(startMs + clock.elapsedMs()), elapsedMs: () => clock.elapsedMs() };
}

/** Resolves after `ms`, or once the signal aborts. Does not keep the process alive. */
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

/** The work's result; `late` where it takes longer than `msMax` or the signal is aborted. The end of either aborts the work's signal. */
export async function bounded<T>(
  work: (signal: AbortSignal) => Promise<T> | T,
  late: T,
  { msMax, signal }: { readonly msMax: number; readonly signal: AbortSignal },
): Promise<T> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  try {
    return await Promise.race([work(either), pause(msMax, either).then(() => late)]);
  } finally {
    over.abort();
  }
}
