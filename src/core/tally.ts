// Counts by key: open streams of an account, connections of an address.
/** Adds to the count of `key`; a count of zero is not kept. */
export function tally<K>(counts: Map<K, number>, key: K, by: number): void {
  const after = (counts.get(key) ?? 0) + by;
  if (after === 0) counts.delete(key);
  else counts.set(key, after);
}
