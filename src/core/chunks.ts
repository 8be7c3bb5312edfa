// Works through many items a few at a time.

/** The items in lists of at most `size`. */
export async function* chunksOf<Item>(items: AsyncIterable<Item> | Iterable<Item>, size: number) {
  let some: Item[] = [];
  for await (const item of items) {
    some.push(item);
    if (some.length < size) continue;
    yield some;
    some = [];
  }
  if (some.length > 0) yield some;
}

/** Maps the items, at most `size` at once. */
export async function inChunks<Item, Result>(
  items: AsyncIterable<Item> | Iterable<Item>,
  size: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for await (const some of chunksOf(items, size)) results.push(...(await Promise.all(some.map(work))));
  return results;
}
