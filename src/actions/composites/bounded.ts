// Bounds one step of a composite in time: what comes too late is no longer waited for.

export interface StepBounds {
  readonly msMax: number;
  readonly signal: AbortSignal;
}

/** What the work comes to; `late` where it takes longer or the call has ended. Its signal is then aborted. */
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
