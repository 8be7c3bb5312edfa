// What becomes of a key's ceiling when it is changed: the same in every store.
import type { KeyLimits } from "../../../core/account-rows.ts";

type Ceiling = Pick<KeyLimits, "ceilingNano" | "ceilingPeriod">;

/**
 * The ceiling after a change that may name but one half of it. Where another change has taken the ceiling off or put it there
 * meanwhile, both halves still belong together: a ceiling without a period counts by the day, and a period alone is none.
 */
export function ceilingAfter(before: Ceiling, patch: Partial<Ceiling>): Ceiling {
  const { ceilingNano = before.ceilingNano, ceilingPeriod = before.ceilingPeriod } = patch;
  return { ceilingNano, ceilingPeriod: ceilingNano === null ? null : (ceilingPeriod ?? "day") };
}
