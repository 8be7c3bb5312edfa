// Finds names similar to an unknown one, for a helpful 404.

const NEAREST_MAX = 3;
const LIKENESS_MIN = 0.35;

function pairsOf(name: string): ReadonlySet<string> {
  const letters = `^${name.toLowerCase()}$`;
  return new Set(Array.from({ length: letters.length - 1 }, (_, at) => letters.slice(at, at + 2)));
}

/** Dice coefficient of the names' letter pairs, from 0 to 1. */
function likeness(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let shared = 0;
  for (const pair of a) if (b.has(pair)) shared += 1;
  return (2 * shared) / (a.size + b.size);
}

/** Up to three similar names, the most similar first. A name without a maker is compared with the part after the maker. */
export function nearest(wanted: string, names: readonly string[]): readonly string[] {
  const pairs = pairsOf(wanted.slice(0, 200));
  const compared = (name: string) => (wanted.includes("/") ? name : name.slice(name.lastIndexOf("/") + 1));
  return names
    .map((name) => ({ name, like: likeness(pairs, pairsOf(compared(name))) }))
    .filter(({ like }) => like >= LIKENESS_MIN)
    .sort((a, b) => b.like - a.like)
    .slice(0, NEAREST_MAX)
    .map(({ name }) => name);
}
