// So many questions at once to one server: one that is asked more is slow for all of them. The others wait, and their time does not run yet.

/** Runs what it is given, at most so many at once, in their order. Rejects what has waited longer than `waitMsMax` for its turn. */
export function atOnce(
  most: number,
  waitMsMax: number | null = null,
): <Result>(work: () => Promise<Result>) => Promise<Result> {
  const waiting = new Set<() => void>();
  let running = 0;

  function turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const take = () => {
        clearTimeout(timer);
        resolve();
      };
      const leave = () => {
        waiting.delete(take);
        reject(new Error("its turn has not come"));
      };
      const timer = waitMsMax === null ? undefined : setTimeout(leave, waitMsMax);
      waiting.add(take);
    });
  }

  return async (work) => {
    if (running < most) running += 1;
    else await turn();
    try {
      return await work();
    } finally {
      const [next] = waiting;
      // The place is given on to the next.
      if (next === undefined) running -= 1;
      else {
        waiting.delete(next);
        next();
      }
    }
  };
}
