// Counts the cost of every attempt once its call has ended: we pay vendors for their work, whatever became of the answer.
import { most, type Nano, ZERO } from "../core/money.ts";
import type { Cost, Plan } from "../core/plan.ts";
import type { Leg, Taken, Tries } from "../core/route.ts";

/**
 * The cost of an attempt that the caller does not pay for, or not alone. Where it cannot be counted, it is the most that the call could
 * cost us: operators notice an amount that is too high, and never one that is missing.
 */
async function costOf(plan: Plan, { candidate, reading, ended }: Taken, onBroken: (error: unknown) => void) {
  try {
    return (await plan.cost(candidate, reading, ended)).upstreamNano;
  } catch (error) {
    onBroken(error);
    return plan.quote.upstreamNano();
  }
}

/** The attempt that the caller pays for, with its cost; null: it could not be counted. */
export interface CountedTaken {
  readonly taken: Taken;
  readonly cost: Cost | null;
}

/** Whether the caller's cost is all that the attempt cost us: an abandoned answer may have grown since. */
function isAll(taken: Taken, served: CountedTaken | null): boolean {
  return taken === served?.taken && served.cost !== null && taken.ended === "whole";
}

/**
 * Writes its cost to every leg, and puts the legs of inner calls before the one that made them. Null: done at once, as for nearly every
 * call. Never rejects.
 */
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
        if (one.accepted && !isAll(one, served)) {
          one.leg.upstreamNano = most(floor(one), await costOf(plan, one, onBroken));
        }
        if (one.inner !== null) putBefore(legs, one.leg, await one.inner);
      } catch (error) {
        // The call's hold must be ended all the same.
        onBroken(error);
      }
    }),
  ).then(() => {});
}

function putBefore(legs: Leg[], leg: Leg, inner: readonly Leg[]): void {
  legs.splice(legs.indexOf(leg), 0, ...inner);
}
