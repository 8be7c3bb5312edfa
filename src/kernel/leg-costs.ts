// Computes the cost of every attempt once its call has ended: vendors bill us whatever became of the answer.
import { most, type Nano, ZERO } from "../core/money.ts";
import type { Cost, Plan } from "../core/plan.ts";
import type { Taken, Tries } from "../core/route.ts";

/**
 * The cost of an attempt that the caller does not pay for, or only in part. If it cannot be computed, the most that the call could cost
 * us: operators notice an amount that is too high, but not one that is missing.
 */
async function costOf(plan: Plan, { candidate, reading, ended }: Taken, onBroken: (error: unknown) => void) {
  try {
    return (await plan.cost(candidate, reading, ended)).upstreamNano;
  } catch (error) {
    onBroken(error);
    return plan.quote.upstreamNano();
  }
}

/** The attempt that the caller pays for; its cost is null if it could not be computed. */
export interface CountedTaken {
  readonly taken: Taken;
  readonly cost: Cost | null;
}

/** True if the caller's cost is the attempt's full cost; an abandoned answer may have grown since. */
function isAll(taken: Taken, served: CountedTaken | null): boolean {
  return taken === served?.taken && served.cost !== null && taken.ended === "whole";
}

/** Costs every leg, and puts inner calls' legs before the leg that made them. Null if synchronous, as nearly always. Never rejects. */
export function noteCosts(
  plan: Plan,
  { taken, legs }: Pick<Tries, "taken" | "legs">,
  served: CountedTaken | null,
  onBroken: (error: unknown) => void,
): Promise<void> | null {
  const known = served?.cost?.upstreamNano ?? ZERO;
  if (served !== null) served.taken.leg.upstreamNano = known;
  const open = taken.filter((one) => one.inner !== null || (one.accepted && !isAll(one, served)));
  if (open.length === 0) return null;
  const floor = (one: Taken): Nano => (one === served?.taken ? known : ZERO);
  return Promise.all(
    open.map(async (one) => {
      try {
        if (one.accepted && !isAll(one, served))
          one.leg.upstreamNano = most(floor(one), await costOf(plan, one, onBroken));
        if (one.inner !== null) legs.splice(legs.indexOf(one.leg), 0, ...(await one.inner));
      } catch (error) {
        // The call's hold must end regardless.
        onBroken(error);
      }
    }),
  ).then(() => {});
}
