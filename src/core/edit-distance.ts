// How far a word is from the one that was probably meant.

/** The edit distance between two words, including swaps (Damerau-Levenshtein). */
export function distance(a: string, b: string): number {
  let [before, last]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, at) => at)];
  for (let row = 1; row <= a.length; row++) {
    const next = [row];
    for (let at = 1; at <= b.length; at++) {
      const same = a[row - 1] === b[at - 1] ? 0 : 1;
      let least = Math.min((last[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1, (last[at - 1] ?? 0) + same);
      const swapped = row > 1 && at > 1 && a[row - 1] === b[at - 2] && a[row - 2] === b[at - 1];
      if (swapped) least = Math.min(least, (before[at - 2] ?? 0) + 1);
      next.push(least);
    }
    [before, last] = [last, next];
  }
  return last[b.length] ?? 0;
}
