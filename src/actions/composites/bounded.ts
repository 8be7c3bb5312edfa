// Limits the time of one step of a composite.

export interface StepBounds {
  readonly msMax: number;
  readonly signal: AbortSignal;
}

/** The work's result; `late` where it exceeds `msMax` or the call ends, which also aborts the work's signal. */
export async function bounded<T>(
  work: (signal: AbortSignal) => Promise<T> | T,
  late: T,
  { msMax, signal }: StepBounds,
): Promise<T> {
  const stop = new AbortController();
  const { promise: over, resolve } = Promise.withResolvers<T>();
  const end = () => {
    stop.abort();
    resolve(late);
  };
  const timer = setTimeout(end, msMax);
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  try {
    return await Promise.race([work(stop.signal), over]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
}
