// Limits concurrent requests to one server: more would slow down all of them. The others wait, and their timeouts start only when they run.

/** Runs tasks in order, up to the limit concurrently. Rejects a task that has waited longer than `waitMsMax` for its turn. */
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
      // Pass the slot to the next task.
      if (next === undefined) running -= 1;
      else {
        waiting.delete(next);
        next();
      }
    }
  };
}
