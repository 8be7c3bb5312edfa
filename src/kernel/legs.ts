// Sums the cost of a call's legs, and converts them for its posting.
import type { PostedLeg } from "../core/account-rows.ts";
import { add, type Nano, nanoFromCents, ZERO } from "../core/money.ts";
import type { Leg } from "../core/route.ts";
import type { CostBeside } from "../money/ledger/model/ledger.ts";

/**
 * Our own cost of each fetch, whatever its result: it takes traffic, a socket for seconds, and the site's patience. Counting failed
 * fetches too keeps callers from making us hammer a site for free.
 */
const OWN_NANO = nanoFromCents(0.01);

/** The cost of our own work, which no vendor bills and no posting contains. */
function ownOf(legs: readonly Leg[]): Nano {
  return legs.reduce((sum, { own, ownNano }) => (own === true ? add(sum, ownNano ?? OWN_NANO) : sum), ZERO);
}

/** A call's cost as it counts toward its account's unpaid costs. */
export function costOf(legs: readonly Leg[]): Nano {
  return add(upstreamOf(legs), ownOf(legs));
}

/** The part missing from the posting; undefined where there is none. */
export function costBeside(legs: readonly Leg[]): CostBeside | undefined {
  const costNano = ownOf(legs);
  return costNano === ZERO ? undefined : { chargedNano: ZERO, costNano };
}

export function upstreamOf(legs: readonly Leg[]): Nano {
  return legs.reduce((sum, leg) => add(sum, leg.upstreamNano), ZERO);
}

/** The legs in the ledger's form; `requestHash`: the call's within a run. */
export function postedLegs(legs: readonly Leg[], requestHash?: string): readonly PostedLeg[] {
  return legs.map(({ provider, model, upstreamNano, failure, ms, firstTokenMs, told }) => ({
    vendor: provider,
    model,
    upstreamNano,
    ok: failure === null,
    ms: Math.round(ms),
    reason: failure,
    count: 1,
    ...(told === undefined ? {} : { told }),
    ...(requestHash === undefined || failure !== null || told !== undefined
      ? {}
      : { inRun: { firstTokenMs: firstTokenMs === null ? null : Math.round(firstTokenMs), requestHash } }),
  }));
}
