// How many machines an account may have at once whose vendor takes more than their minutes: each has a place, which is a hold of nothing.
import type { ActionOffer } from "../../catalog/catalog.ts";
import type { Clock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import { ZERO } from "../../core/money.ts";
import type { AccountPayer } from "../../core/plan.ts";
import { isShort, refusal } from "../../kernel/refused-hold.ts";
import type { CallWindows } from "../../kernel/windows.ts";
import type { HoldRef, Money } from "../../money/ledger/model/ledger.ts";
import type { PrepaidSession } from "./prepaid-session-records.ts";

/** What they take is read each minute, so that an account can have so many minutes' worth before its bound is looked at. */
const PLACES = 10;
/** Longer than any such machine can be paid for. A place is given back when its machine has ended, and this is for what is lost. */
const LEASE_MS = 26 * 3_600_000;

export interface PlacesDeps {
  readonly ledger: Pick<Money, "reserve" | "void">;
  readonly windows: CallWindows;
  readonly clock: Pick<Clock, "epochMs">;
}

function placeOf({ label, payer }: Pick<PrepaidSession, "label" | "payer">): HoldRef {
  return { accountId: payer.id.slice("acct:".length), holdId: `place_${label}` };
}

/** Takes a machine's place before the vendor is asked for it. Why there is none; null: it has one. */
export async function takePlace(
  { adapter, id }: ActionOffer,
  payer: AccountPayer,
  label: string,
  { ledger, windows, clock }: PlacesDeps,
): Promise<GatewayError | null> {
  const hold = placeOf({ label, payer });
  const nowMs = clock.epochMs();
  const placed = await ledger.reserve({
    ...hold,
    keyId: payer.keyId,
    parentId: null,
    amountNano: ZERO,
    slots: [{ scope: `places ${adapter.id}`, max: PLACES, code: "too_many_inflight" }],
    inference: false,
    windows: windows.unpaid(payer),
    // Like a job, the machine outlives the process whose call made it.
    owner: `job:${hold.holdId}`,
    leaseMs: LEASE_MS,
    onExpire: "void",
    requestId: `req_${hold.holdId}`,
    operation: "run",
    asked: id,
    effect: "write",
    idempotency: null,
    nowMs,
  });
  // A second attempt of the same call finds the place of the first.
  if (placed.outcome === "held" || (placed.outcome === "exists" && placed.state === "held")) return null;
  // There is always room for nothing, and the request names no other call.
  if (isShort(placed) || placed.outcome === "idempotency_done") return new GatewayError("internal_error");
  return refusal(placed, nowMs);
}

/** Gives a machine's place back. Asked again, it does nothing. */
export async function leavePlace(
  time: Pick<PrepaidSession, "label" | "payer" | "meter">,
  { ledger }: Pick<PlacesDeps, "ledger">,
): Promise<void> {
  if (time.meter !== undefined) await ledger.void(placeOf(time), "its machine has ended");
}
