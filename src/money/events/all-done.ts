// Works that are done side by side, of which none may run on where another one has failed.

/** Rejects as the first of them does that has failed, once all of them have ended. */
export async function allDone(works: Iterable<Promise<unknown>>): Promise<void> {
  for (const outcome of await Promise.allSettled(works)) if (outcome.status === "rejected") throw outcome.reason;
}
