// The legs of a call: what they cost us together, and what its posting keeps of them.
import type { PostedLeg } from "../core/account-rows.ts";
import { add, type Nano, nanoFromCents, ZERO } from "../core/money.ts";
import type { Leg } from "../core/route.ts";
import type { CostBeside } from "../money/ledger/model/ledger.ts";

/**
 * What a fetch of our own counts as its cost, whatever came of it: it takes traffic, a socket for seconds, and the patience of the site
 * that is asked. So pages that all turn out unreadable are no free way to have us ask a site again and again.
 */
const OWN_NANO = nanoFromCents(0.01);

/** What our own work in a call counts: no vendor takes it from us, so it stands in no posting. */
function ownOf(legs: readonly Leg[]): Nano {
  return legs.reduce((sum, { own, ownNano }) => (own === true ? add(sum, ownNano ?? OWN_NANO) : sum), ZERO);
}

/** What a call costs us, as its account's unpaid cost counts it. */
export function costOf(legs: readonly Leg[]): Nano {
  return add(upstreamOf(legs), ownOf(legs));
}

/** What of it stands in no posting; undefined where there is none. */
export function costBeside(legs: readonly Leg[]): CostBeside | undefined {
  const costNano = ownOf(legs);
  return costNano === ZERO ? undefined : { chargedNano: ZERO, costNano };
}

/** What all vendors together take from us. */
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
