// So many questions at once to one server: one that is asked more is slow for all of them. The others wait, and their time does not run yet.

/** Runs what it is given, at most so many at once, in their order. */
export function atOnce(most: number): <Result>(work: () => Promise<Result>) => Promise<Result> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running < most) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      // The place is given on to the next.
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
