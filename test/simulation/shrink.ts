// Makes a failing scenario small: removes everything that the failure does not need.
import type { Scenario } from "./scenario.ts";

/**
 * The shortest sublist that still fails, by halves, quarters and so on (delta debugging): without any one of its items the failure
 * disappears.
 */
async function minimal<T>(items: readonly T[], fails: (some: readonly T[]) => Promise<boolean>): Promise<readonly T[]> {
  let left = items;
  if (left.length > 0 && (await fails([]))) return [];
  for (let parts = 2; left.length >= 2; ) {
    const size = Math.ceil(left.length / parts);
    let smaller: readonly T[] | null = null;
    for (let at = 0; at < left.length && smaller === null; at += size) {
      const without = left.filter((_, place) => place < at || place >= at + size);
      if (await fails(without)) smaller = without;
    }
    if (smaller !== null) {
      left = smaller;
      parts = Math.max(parts - 1, 2);
    } else if (size === 1) {
      break;
    } else {
      parts = Math.min(left.length, parts * 2);
    }
  }
  return left;
}

/** Removes faults, then calls, while the scenario still fails; repeats while that helps. */
export async function shrink(scenario: Scenario, fails: (smaller: Scenario) => Promise<boolean>): Promise<Scenario> {
  let small = scenario;
  const sizeOf = ({ faults, calls, jobs = [] }: Scenario) => faults.length + calls.length + jobs.length;
  for (let size = Number.POSITIVE_INFINITY; sizeOf(small) < size; ) {
    size = sizeOf(small);
    const faults = await minimal(small.faults, (some) => fails({ ...small, faults: some }));
    small = { ...small, faults };
    const calls = await minimal(small.calls, (some) => fails({ ...small, calls: some }));
    small = { ...small, calls };
    if (small.jobs === undefined) continue;
    const jobs = await minimal(small.jobs, (some) => fails({ ...small, jobs: some }));
    small = { ...small, jobs };
  }
  return small;
}
