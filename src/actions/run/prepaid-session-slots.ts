// Limits an account's concurrent machines whose vendor charges for more than time. Each takes a place, which is a hold of zero.
import type { ActionOffer } from "../../catalog/catalog.ts";
import type { Clock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import { ZERO } from "../../core/money.ts";
import type { AccountPayer } from "../../core/plan.ts";
import { isShort, refusal } from "../../kernel/refused-hold.ts";
import type { CallWindows } from "../../kernel/windows.ts";
import type { HoldRef, Money } from "../../money/ledger/model/ledger.ts";
import type { PrepaidSession } from "./prepaid-session-records.ts";

/** Meters are read each minute, so an account can spend this many machine minutes before its bound is checked. */
const PLACES = 10;
/** Longer than such a machine can run. A place is normally freed when its machine ends; this covers lost machines. */
const LEASE_MS = 26 * 3_600_000;

export interface PlacesDeps {
  readonly ledger: Pick<Money, "reserve" | "void">;
  readonly windows: CallWindows;
  readonly clock: Pick<Clock, "epochMs">;
}

function placeOf({ label, payer }: Pick<PrepaidSession, "label" | "payer">): HoldRef {
  return { accountId: payer.id.slice("acct:".length), holdId: `place_${label}` };
}

export function emptyHold(hold: HoldRef, { keyId }: AccountPayer, nowMs: number) {
  const nothing = { amountNano: ZERO, parentId: null, slots: [], inference: false, idempotency: null } as const;
  const requestId = `req_${hold.holdId}`;
  return { ...hold, ...nothing, keyId, onExpire: "void", requestId, operation: "run", nowMs } as const;
}

/** Takes a place before the vendor creates the machine. Returns the refusal; null where it has a place. */
export async function takePlace(
  { adapter, id }: ActionOffer,
  payer: AccountPayer,
  label: string,
  { ledger, windows, clock }: PlacesDeps,
): Promise<GatewayError | null> {
  const hold = placeOf({ label, payer });
  const nowMs = clock.epochMs();
  const placed = await ledger.reserve({
    ...emptyHold(hold, payer, nowMs),
    slots: [{ scope: `places ${adapter.id}`, max: PLACES, code: "too_many_inflight" }],
    windows: windows.unpaid(payer),
    // The machine outlives the process that created it, like a job.
    owner: `job:${hold.holdId}`,
    leaseMs: LEASE_MS,
    asked: id,
    effect: "write",
  });
  // A second attempt of the same call finds its first attempt's place.
  if (placed.outcome === "held" || (placed.outcome === "exists" && placed.state === "held")) return null;
  // A hold of zero always fits, and the request has no idempotency key.
  if (isShort(placed) || placed.outcome === "idempotency_done") return new GatewayError("internal_error");
  return refusal(placed, nowMs);
}

/** Frees a machine's place. Idempotent. */
export async function leavePlace(
  time: Pick<PrepaidSession, "label" | "payer" | "meter">,
  { ledger }: Pick<PlacesDeps, "ledger">,
): Promise<void> {
  if (time.meter !== undefined) await ledger.void(placeOf(time), "its machine has ended");
}
