// Tells the operator that a vendor has counted something that has no price here: once in the log, and each time in the metrics.
import type { Log } from "../platform/observe/log.ts";
import type { Observer } from "../platform/observe/observer.ts";
import type { UnpricedUsage } from "../upstream/model-candidate.ts";
import type { Losses } from "./losses.ts";

/** The caller was charged for tokens by the list; what the vendor takes beside them is ours to bear, and to look at. */
export function tellUnpriced(
  { logger }: Log,
  observer: Observer,
  losses: Pick<Losses, "noteUnpriced">,
): (told: UnpricedUsage) => void {
  const known = new Set<string>();
  return (told) => {
    const { counter } = told;
    const { id, isSandbox } = told.adapter;
    losses.noteUnpriced(told);
    observer.unpriced(id, counter, isSandbox === true);
    const what = `${id} ${counter}`;
    if (known.has(what)) return;
    known.add(what);
    logger.warn(
      { provider: id, counter },
      "a provider counts what has no price here: its bill may be higher than ours",
    );
  };
}
