// The names nearest to one that is not known, for a 404 that helps.

const NEAREST_MAX = 3;
const LIKENESS_MIN = 0.35;

/** Pairs of neighbouring letters. */
function pairsOf(name: string): ReadonlySet<string> {
  const letters = `^${name.toLowerCase()}$`;
  return new Set(Array.from({ length: letters.length - 1 }, (_, at) => letters.slice(at, at + 2)));
}

/** How much of two names is the same, from 0 to 1 (Dice's coefficient of their pairs of letters). */
function likeness(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let shared = 0;
  for (const pair of a) if (b.has(pair)) shared += 1;
  return (2 * shared) / (a.size + b.size);
}

/** Up to three of `names` that are much like `asked`, the nearest first. What is asked without a maker is compared with what follows theirs. */
export function nearest(asked: string, names: readonly string[]): readonly string[] {
  const pairs = pairsOf(asked.slice(0, 200));
  const compared = (name: string) => (asked.includes("/") ? name : name.slice(name.lastIndexOf("/") + 1));
  return names
    .map((name) => ({ name, like: likeness(pairs, pairsOf(compared(name))) }))
    .filter(({ like }) => like >= LIKENESS_MIN)
    .sort((a, b) => b.like - a.like)
    .slice(0, NEAREST_MAX)
    .map(({ name }) => name);
}
