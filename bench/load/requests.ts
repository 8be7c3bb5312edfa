// The texts that a job sends, one after the other: always the same, or each time another caller's.
import { SOMEBODY, type Target } from "./jobs.ts";

/** Callers come at random from a fixed seed, so that every subject meets the same ones. */
export function requests({ request, callers }: Pick<Target, "request" | "callers">): () => string {
  if (callers === undefined) return () => request;
  const [before = "", after = ""] = request.split(SOMEBODY);
  let seed = 0x2545f491;
  return () => {
    seed ^= seed << 13;
    seed ^= seed >>> 17;
    seed ^= seed << 5;
    return before + callers[(seed >>> 0) % callers.length] + after;
  };
}
