// What calls that were free for an account have cost us today: misses that are free, pages that were walls, jobs that found nothing.
// Vendors took their price for them, and fetches of our own went out; an account that makes many and pays for little would have us pay
// for its work.
import type { Clock } from "../clock.ts";
import { add, most, type Nano, nanoFromCents, part, ZERO } from "../money.ts";
import type { Leg } from "../route.ts";

export type UnpaidLeg = Pick<Leg, "failure" | "upstreamNano" | "own">;

export interface UnpaidCosts {
  /** Counts an ended call of an account: what was charged, and where that is nothing, what vendors took for their answers and what our own work comes to. */
  note(accountId: string, chargedNano: Nano, legs: readonly UnpaidLeg[]): void;
  /** Whole seconds until the account may make such calls again; null: it may. */
  refusedForSeconds(accountId: string): number | null;
}

export interface UnpaidCostsOptions {
  readonly clock: Clock;
  /** What an account's free calls may cost us in a UTC day; null: no bound. */
  readonly freeNano: Nano | null;
  /** How many accounts are told apart in a day. Default 100,000; beyond them nothing more is counted. */
  readonly accountsMax?: number;
}

interface Day {
  paidNano: Nano;
  unpaidNano: Nano;
}

const DAY_MS = 86_400_000;
/** Who pays for its calls may have this part of that in free ones: one in two, where `freeNano` is less. */
const PAID_PARTS = 2;
/**
 * What a fetch of our own counts, whatever came of it: it costs traffic, a socket for seconds, and the patience of whoever is asked. So
 * many pages that all turn out unreadable are no free way to have us ask somebody again and again.
 */
const OWN_NANO = nanoFromCents(0.01);

function unpaidOf({ failure, upstreamNano, own }: UnpaidLeg): Nano {
  if (own === true) return OWN_NANO;
  return failure === null ? upstreamNano : ZERO;
}

/**
 * In memory, of this process, for the UTC day. What a vendor failed at is not counted: an outage is nobody's abuse, and costs us
 * nothing to speak of.
 */
export function createUnpaidCosts({ clock, freeNano, accountsMax = 100_000 }: UnpaidCostsOptions): UnpaidCosts {
  let accounts = new Map<string, Day>();
  let today = Number.NEGATIVE_INFINITY;

  const enter = (): void => {
    const day = Math.floor(clock.epochMs() / DAY_MS);
    // A clock set back leaves the counts.
    if (day <= today) return;
    today = day;
    accounts = new Map();
  };

  return {
    note(accountId, chargedNano, legs) {
      if (freeNano === null) return;
      const unpaidNano = chargedNano > 0 ? ZERO : legs.reduce((sum, leg) => add(sum, unpaidOf(leg)), ZERO);
      if (chargedNano === ZERO && unpaidNano === ZERO) return;
      enter();
      const known = accounts.get(accountId);
      if (known !== undefined) {
        known.paidNano = add(known.paidNano, chargedNano);
        known.unpaidNano = add(known.unpaidNano, unpaidNano);
      } else if (accounts.size < accountsMax) accounts.set(accountId, { paidNano: chargedNano, unpaidNano });
    },
    refusedForSeconds(accountId) {
      if (freeNano === null) return null;
      enter();
      const known = accounts.get(accountId);
      if (known === undefined || known.unpaidNano <= most(freeNano, part(known.paidNano, PAID_PARTS))) return null;
      return Math.max(1, Math.ceil(((today + 1) * DAY_MS - clock.epochMs()) / 1_000));
    },
  };
}
