// What every attempt cost us, counted once its call has ended: a vendor that has done its work is paid by us, whatever became of the answer.
import { most, type Nano, ZERO } from "../core/money.ts";
import type { Cost, Plan } from "../core/plan.ts";
import type { Leg, Taken, Tries } from "../core/route.ts";

/**
 * What an attempt cost us that was not, or not only, what the caller pays for. Where it cannot be counted, it is the most that the call
 * could have cost us: an amount too high is seen by the operator, one that is forgotten is never seen.
 */
async function costOf(plan: Plan, { candidate, reading, ended }: Taken, onBroken: (error: unknown) => void) {
  try {
    return (await plan.cost(candidate, reading, ended)).upstreamNano;
  } catch (error) {
    onBroken(error);
    return plan.quote.upstreamNano();
  }
}

/** What the answer that the caller pays for was read from, and what was counted of it; null: that could not be counted. */
export interface CountedTaken {
  readonly taken: Taken;
  readonly cost: Cost | null;
}

/** Whether what was counted for the caller is all that the attempt cost us: of an answer that was left, more may have come since. */
function isAll(taken: Taken, served: CountedTaken | null): boolean {
  return taken === served?.taken && served.cost !== null && taken.ended === "whole";
}

/**
 * Writes to every leg what it cost us, and puts the legs of inner calls before the one that made them. Null: that was done at once, as it
 * is for nearly every call. Never rejects.
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
        // The call's hold is still to be ended, whatever of this is known.
        onBroken(error);
      }
    }),
  ).then(() => {});
}

function putBefore(legs: Leg[], leg: Leg, inner: readonly Leg[]): void {
  legs.splice(legs.indexOf(leg), 0, ...inner);
}
