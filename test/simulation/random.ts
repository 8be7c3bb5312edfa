// Repeatable randomness: a stream of numbers determined by a seed.
export interface Chance {
  /** From 0, inclusive, to 1, exclusive. */
  next(): number;
  between(min: number, max: number): number;
  /** A whole number from `min` to `max`, both inclusive. */
  whole(min: number, max: number): number;
  happens(share: number): boolean;
  of<T>(list: readonly [T, ...T[]]): T;
}

/** Mulberry32: small, and good enough for choices. */
export function chanceFrom(seed: number): Chance {
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const between = (min: number, max: number) => min + next() * (max - min);
  return {
    next,
    between,
    whole: (min, max) => Math.floor(between(min, max + 1)),
    happens: (share) => next() < share,
    of: (list) => list[Math.floor(next() * list.length)] ?? list[0],
  };
}
