// Delivers the end of one call, whatever happened to its hold: a charge that the caller saw is made, once.
import { add, minus, ZERO } from "../../../core/money.ts";
import type { HoldOrigin, PostedCharge, PostOutcome, PostRequest, SharedLedger, VoidOutcome } from "../model/ledger.ts";
import type { Intent } from "./intent.ts";

export type Told = PostOutcome | VoidOutcome;

type Posted = Extract<PostOutcome, { readonly outcome: "posted" }>;

/** The reason of a sweeper's posting, which covers only the recorded usage. */
export const LEASE_ENDED = "its lease ended";

/** The transaction id of a call's cost beyond the sweeper's posting. */
export function restId(holdId: string): string {
  return `${holdId}.rest`;
}

/** Delivers one intent. Rejects where the store is down. */
export async function tellStore(ledger: SharedLedger, intent: Intent): Promise<Told> {
  const { origin } = intent;
  if (intent.op === "void") {
    const { hold, reason, keyFate, upstreamNano = ZERO } = intent;
    const end = { keyFate, upstreamNano };
    // What a lost hold leaves behind: the fate of its idempotency key, and its call's cost to us.
    const leaves = (origin?.idempotency != null && keyFate !== "free") || upstreamNano > 0;
    return origin !== null && leaves ? ledger.voidOrphan(hold, end, origin) : ledger.void(hold, reason, end);
  }
  const { request } = intent;
  const told = await ledger.post(request);
  if (origin === null) return told;
  if (told.outcome === "posted") return whole(ledger, request, origin, told);
  if (told.outcome === "missing") return settleLost(ledger, request, origin);
  return told.outcome === "expired" ? ledger.settleOrphan(request, origin, "late") : told;
}

async function settleLost(ledger: SharedLedger, request: PostRequest, origin: HoldOrigin): Promise<PostOutcome> {
  const { accountId, holdId } = request;
  // It may have been posted so long ago that only the archive has it.
  const before = await ledger.transaction(accountId, holdId);
  if (before !== null) {
    const { amountNano: chargedNano, chargedCents, absorbedNano } = before;
    const told = {
      outcome: "posted",
      repeat: true,
      chargedNano,
      chargedCents,
      absorbedNano,
      balanceNano: null,
    } as const;
    return whole(ledger, request, origin, told);
  }
  const settled = await ledger.settleOrphan(request, origin, "orphan");
  if (settled.outcome === "missing") throw new Error(`the store does not know the account ${accountId} of ${holdId}`);
  return settled;
}

/** Postings never change: where the sweeper posted only recorded usage, the rest is a second charge, whose id derives from the hold's. */
async function whole(
  ledger: SharedLedger,
  request: PostRequest,
  origin: HoldOrigin,
  told: Posted,
): Promise<PostOutcome> {
  const missing = minus(request.amountNano, add(told.chargedNano, told.absorbedNano));
  if (missing === 0) return told;
  const { accountId, holdId } = request;
  const posting = await ledger.transaction(accountId, holdId);
  if (posting?.reason !== LEASE_ENDED) return told;
  const rest = await ledger.settleOrphan(
    {
      ...request,
      holdId: restId(holdId),
      amountNano: missing,
      beside: { chargedNano: told.chargedNano, costNano: request.beside?.costNano ?? ZERO },
    },
    { ...origin, parentId: holdId, amountNano: minus(origin.amountNano, told.chargedNano), idempotency: null },
    "late",
  );
  return rest.outcome === "posted" ? { ...rest, ...both(told, rest) } : told;
}

function both(one: PostedCharge, other: PostedCharge): Omit<PostedCharge, "balanceNano"> {
  return {
    chargedNano: add(one.chargedNano, other.chargedNano),
    chargedCents: one.chargedCents + other.chargedCents,
    absorbedNano: add(one.absorbedNano, other.absorbedNano),
  };
}
