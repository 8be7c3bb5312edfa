// Handles report rows in small batches, so that calls run in between, on this thread and on the one that looks up names.
import { ownSlice } from "../../core/slices.ts";

/** Each row may take two store operations, and a few tens of microseconds here. */
const AT_ONCE = 16;

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
