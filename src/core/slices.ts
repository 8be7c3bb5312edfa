// Long work on the thread that serves calls, done in slices: whatever waits on the event loop goes between two of them.
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

/** Takes a slice of its work; true: the work has ended. */
type Slice = () => boolean;

/** The works that wait for their next slice. There is one queue as there is one event loop: what takes slices by itself adds up with what does too. */
const waiting: Slice[] = [];
let isTurnPlanned = false;

/** Turns that take longer are of a loop with more to do than it can: then several slices are taken in each, so that their works come to an end. */
const LONG_TURN_MS = 20;
const IN_LONG_TURN_MS = 2;

function planTurn(): void {
  if (isTurnPlanned) return;
  isTurnPlanned = true;
  const fromMs = systemClock.elapsedMs();
  setImmediate(() => takeTurn(systemClock.elapsedMs() - fromMs));
}

/** The slice of the work that has waited longest. With the end of a work its slice is over: what waits for that work goes on behind it. */
function takeSlice(): void {
  const slice = waiting.shift();
  if (slice?.() === false) waiting.push(slice);
}

/** One slice, and more where the loop has taken long to come to it. */
function takeTurn(turnMs: number): void {
  isTurnPlanned = false;
  const untilMs = systemClock.elapsedMs() + (turnMs > LONG_TURN_MS ? IN_LONG_TURN_MS : 0);
  do takeSlice();
  while (waiting.length > 0 && systemClock.elapsedMs() < untilMs);
  if (waiting.length > 0) planTurn();
}

/** In slices of half a millisecond, of which a turn of the loop has one, whatever else is done in slices. Rejects with what the work throws. */
export function inSlices<Result>(steps: Steps<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    waiting.push(() => {
      const untilMs = systemClock.elapsedMs() + SLICE_MS;
      try {
        do {
          const step = steps.next();
          if (step.done) {
            resolve(step.value);
            return true;
          }
        } while (systemClock.elapsedMs() < untilMs);
        return false;
      } catch (error) {
        reject(error);
        return true;
      }
    });
    planTurn();
  });
}

function* nothing(): Steps<void> {}

/** Resolves at the place of a slice: what is done then, to the next wait, has a turn of the loop for itself as far as work in slices goes. */
export function ownSlice(): Promise<void> {
  return inSlices(nothing());
}

/** What `change` makes of each item, one after the other and in slices, where it waits for others itself. */
export async function eachInSlices<Item, Result>(
  items: Iterable<Item>,
  change: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const made: Result[] = [];
  let untilMs = 0;
  for (const item of items) {
    if (systemClock.elapsedMs() >= untilMs) {
      await ownSlice();
      untilMs = systemClock.elapsedMs() + SLICE_MS;
    }
    made.push(await change(item));
  }
  return made;
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
