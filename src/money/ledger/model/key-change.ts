// How a change of a key affects its ceiling; the same in every store.
import type { KeyLimits } from "../../../core/account-rows.ts";

type Ceiling = Pick<KeyLimits, "ceilingNano" | "ceilingPeriod">;

/**
 * The ceiling after a change that may name only its amount or only its period. Concurrent changes may have removed or added a ceiling
 * meanwhile: an amount without a period counts by the day, and a period without an amount is no ceiling.
 */
export function ceilingAfter(before: Ceiling, patch: Partial<Ceiling>): Ceiling {
  const { ceilingNano = before.ceilingNano, ceilingPeriod = before.ceilingPeriod } = patch;
  return { ceilingNano, ceilingPeriod: ceilingNano === null ? null : (ceilingPeriod ?? "day") };
}
