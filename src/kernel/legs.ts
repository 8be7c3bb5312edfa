// Sums the cost of a call's legs, and prepares them for its posting.
import type { PostedLeg } from "../core/account-rows.ts";
import { add, type Nano, nanoFromCents, ZERO } from "../core/money.ts";
import type { Leg } from "../core/route.ts";
import type { CostBeside } from "../money/ledger/model/ledger.ts";

/**
 * Counted for each fetch of our own, whatever its result: it takes traffic, a socket for seconds, and the site's patience. So unreadable
 * pages are no free way to make us fetch a site again and again.
 */
const OWN_NANO = nanoFromCents(0.01);

/** The counted cost of our own work, which no vendor bills and no posting has. */
function ownOf(legs: readonly Leg[]): Nano {
  return legs.reduce((sum, { own, ownNano }) => (own === true ? add(sum, ownNano ?? OWN_NANO) : sum), ZERO);
}

/** The cost of a call as its account's unpaid costs count it. */
export function costOf(legs: readonly Leg[]): Nano {
  return add(upstreamOf(legs), ownOf(legs));
}

/** The part that no posting has; undefined where there is none. */
export function costBeside(legs: readonly Leg[]): CostBeside | undefined {
  const costNano = ownOf(legs);
  return costNano === ZERO ? undefined : { chargedNano: ZERO, costNano };
}

/** The sum that all vendors bill. */
export function upstreamOf(legs: readonly Leg[]): Nano {
  return legs.reduce((sum, leg) => add(sum, leg.upstreamNano), ZERO);
}

/** The legs as the ledger keeps them. */
export function postedLegs(legs: readonly Leg[]): readonly PostedLeg[] {
  return legs.map(({ provider, model, upstreamNano, failure, ms, told }) => ({
    vendor: provider,
    model,
    upstreamNano,
    ok: failure === null,
    ms: Math.round(ms),
    reason: failure,
    count: 1,
    ...(told === undefined ? {} : { told }),
  }));
}
