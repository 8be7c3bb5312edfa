// Rows of a report are named and written a few at a time: calls go between, on this thread and on the one that knows the names.
import { ownSlice } from "../../core/slices.ts";

/** Each may take two operations of the store, and a few tens of microseconds here. */
const AT_ONCE = 16;

/** What `change` makes of each item, in their order. */
export async function fewAtATime<Item, Result>(
  items: readonly Item[],
  change: (item: Item) => Result | Promise<Result>,
): Promise<Result[]> {
  const made: Result[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE) {
    if (at > 0) await ownSlice();
    made.push(...(await Promise.all(items.slice(at, at + AT_ONCE).map(change))));
  }
  return made;
}
