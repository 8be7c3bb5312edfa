// Long work on the thread that serves calls, done in slices: whatever waits on the event loop goes between two of them.
import { setImmediate } from "node:timers/promises";
import { systemClock } from "./clock.ts";

/** Work that can be left at each `yield`; what it does between two of them takes microseconds. */
export type Steps<Result> = Generator<void, Result, void>;

/** Calls that arrive while such work is done wait this long for the thread, beside what they wait for each other. */
const SLICE_MS = 0.5;

/** All of it at once: where its result is needed now. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** In slices of half a millisecond. Rejects with what the work throws. */
export async function inSlices<Result>(steps: Steps<Result>): Promise<Result> {
  for (;;) {
    const untilMs = systemClock.elapsedMs() + SLICE_MS;
    do {
      const step = steps.next();
      if (step.done) return step.value;
    } while (systemClock.elapsedMs() < untilMs);
    await setImmediate();
  }
}

/** The JSON of plain values, such as `JSON.stringify` writes, with a step for each member of its first `depth` levels. */
export function* jsonOf(value: unknown, depth = 3): Steps<string> {
  if (depth === 0 || typeof value !== "object" || value === null) return JSON.stringify(value);
  const members: string[] = [];
  if (Array.isArray(value)) {
    for (const one of value) {
      members.push((yield* jsonOf(one, depth - 1)) ?? "null");
      yield;
    }
    return `[${members.join(",")}]`;
  }
  for (const [name, one] of Object.entries(value)) {
    const text = yield* jsonOf(one, depth - 1);
    if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`);
    yield;
  }
  return `{${members.join(",")}}`;
}

/** What `change` makes of each item, as a step each. */
export function* eachOf<Item, Result>(items: Iterable<Item>, change: (item: Item) => Result): Steps<Result[]> {
  const made: Result[] = [];
  for (const item of items) {
    made.push(change(item));
    yield;
  }
  return made;
}
