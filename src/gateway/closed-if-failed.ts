// A start that fails midway: what it has opened by then is closed, so that neither its store stays locked nor its threads and timers run on.

/** Is to close what has just been opened. */
export type Opened = (close: () => unknown) => void;

/** Rejects as `start` does, once all that it had opened is closed, the last first. */
export async function closedIfFailed<T>(start: (opened: Opened) => Promise<T>): Promise<T> {
  const closes: (() => unknown)[] = [];
  try {
    return await start((close) => closes.push(close));
  } catch (error) {
    for (const close of closes.reverse()) {
      try {
        await close();
      } catch {
        // Why it could not start is what its operator is told.
      }
    }
    throw error;
  }
}
