// The legs of a call: what they cost us together, and what its posting keeps of them.
import type { PostedLeg } from "../account-rows.ts";
import { add, type Nano, ZERO } from "../money.ts";
import type { Leg } from "../route.ts";

/** What all vendors together take from us. */
export function upstreamOf(legs: readonly Leg[]): Nano {
  return legs.reduce((sum, leg) => add(sum, leg.upstreamNano), ZERO);
}

/** The legs as the ledger keeps them. */
export function postedLegs(legs: readonly Leg[]): readonly PostedLeg[] {
  return legs.map(({ provider, model, upstreamNano, failure, ms }) => ({
    vendor: provider,
    model,
    upstreamNano,
    ok: failure === null,
    ms: Math.round(ms),
    reason: failure,
    count: 1,
  }));
}
