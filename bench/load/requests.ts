// The requests of a job in turn: always the same, or with changing callers.
import { SOMEBODY, type Target } from "./jobs.ts";

/** Random callers from a fixed seed, so that every subject gets the same ones. */
export function requests({ request, callers, inTurn }: Omit<Target, "port">): () => string {
  if (callers === undefined) return () => request;
  const [before = "", after = ""] = request.split(SOMEBODY);
  let turn = 0;
  if (inTurn) return () => before + callers[turn++ % callers.length] + after;
  let seed = 0x2545f491;
  return () => {
    seed ^= seed << 13;
    seed ^= seed >>> 17;
    seed ^= seed << 5;
    return before + callers[(seed >>> 0) % callers.length] + after;
  };
}
