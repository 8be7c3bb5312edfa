// Runs long work on the event loop in short slices, so that calls run in between.
import { systemClock } from "./clock.ts";

/** Work that can pause at each `yield`, with microseconds in between. */
export type Steps<Result> = Generator<void, Result, void>;

/** The most that one slice delays calls. */
const SLICE_MS = 0.5;

/** Runs all the work now, where its result is needed at once. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Runs one slice; returns true once the work has ended. */
type Slice = () => boolean;

/** Work waiting for its next slice. One queue for the whole event loop, so that concurrent work shares its slices. */
const waiting: Slice[] = [];
let isTurnPlanned = false;

/** Longer turns mean that the loop is overloaded: then each turn runs several slices, so that work still finishes. */
const LONG_TURN_MS = 20;
const IN_LONG_TURN_MS = 2;

function planTurn(): void {
  if (isTurnPlanned) return;
  isTurnPlanned = true;
  const fromMs = systemClock.elapsedMs();
  setImmediate(() => takeTurn(systemClock.elapsedMs() - fromMs));
}

/** Runs a slice of the work that has waited longest. The end of work also ends its slice. */
function takeSlice(): void {
  const slice = waiting.shift();
  if (slice?.() === false) waiting.push(slice);
}

/** Runs one slice, or more where the loop's turn took long. */
function takeTurn(turnMs: number): void {
  isTurnPlanned = false;
  const untilMs = systemClock.elapsedMs() + (turnMs > LONG_TURN_MS ? IN_LONG_TURN_MS : 0);
  do takeSlice();
  while (waiting.length > 0 && systemClock.elapsedMs() < untilMs);
  if (waiting.length > 0) planTurn();
}

/** Runs work in slices of half a millisecond, one per turn of the loop across all such work. Rejects with what the work throws. */
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

/** Resolves as if it were a slice: what follows, up to the next await, shares its turn with no other slice. */
export function ownSlice(): Promise<void> {
  return inSlices(nothing());
}

/** Maps items one after the other, in slices; `change` may be asynchronous. */
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

/** JSON of plain values, like `JSON.stringify`, with a step for each member of its first `depth` levels. */
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

export function* eachOf<Item, Result>(items: Iterable<Item>, change: (item: Item) => Result): Steps<Result[]> {
  const made: Result[] = [];
  for (const item of items) {
    made.push(change(item));
    yield;
  }
  return made;
}
