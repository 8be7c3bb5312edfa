// Holds of zero for machines whose vendor charges for more than time, such as traffic. One hold is the machine's place among the account's
// concurrent ones. Another is placed and ended each minute: its end counts what the machine cost besides its time, as unpaid cost.
import type { ActionOffer } from "../../catalog/catalog.ts";
import type { Accounts } from "../../core/account-rows.ts";
import type { Clock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import { minus, type Nano, ZERO } from "../../core/money.ts";
import type { AccountPayer } from "../../core/plan.ts";
import { isShort, refusal } from "../../kernel/refused-hold.ts";
import type { CallWindows } from "../../kernel/windows.ts";
import type { HoldRef, Money } from "../../money/ledger/model/ledger.ts";
import type { Observer } from "../../platform/observe/observer.ts";
import type { Meter, PrepaidRecords, PrepaidSession } from "./prepaid-session-records.ts";

/** How often a meter is read. Bounds what a machine can cost us before we check its account's bound. */
export const METER_MS = 60_000;
/** Meters are read each minute, so an account can spend this many machine minutes before its bound is checked. */
const PLACES = 10;
/** Longer than such a machine can run. A place is normally freed when its machine ends; this covers lost machines. */
const PLACE_MS = 26 * 3_600_000;
/** A cost's hold ends as soon as it is placed. */
const LEASE_MS = 60_000;
/** Where a process dies between placing and ending a hold, the hold expires and the next try counts instead. */
const TRIES_MAX = 5;

export interface PlacesDeps {
  readonly ledger: Pick<Money, "reserve" | "void">;
  readonly windows: CallWindows;
  readonly clock: Pick<Clock, "epochMs">;
}

export interface MeterDeps extends PlacesDeps {
  readonly ledger: PlacesDeps["ledger"] & Pick<Accounts, "keys">;
  readonly observer: Pick<Observer, "unpaid">;
  readonly owner: string;
}

const accountOf = (payer: PrepaidSession["payer"]) => payer.id.slice("acct:".length);

function placeOf({ label, payer }: Pick<PrepaidSession, "label" | "payer">): HoldRef {
  return { accountId: accountOf(payer), holdId: `place_${label}` };
}

function emptyHold(hold: HoldRef, { keyId }: Pick<AccountPayer, "keyId">, nowMs: number) {
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
    leaseMs: PLACE_MS,
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

/** `at_bound`: counted, and the account has reached today's bound on unpaid cost. `later`: could not be counted now. */
export type Metered = "counted" | "at_bound" | "later";

/**
 * Counts a machine's cost so far. Invariant: unless it returns `later`, at least `takenNano` has been counted, each part of it exactly once.
 * A step's sum is stored under its name before the ledger is called. A step that was left pending is finished first, and the rest is the next
 * step.
 */
export async function countTaken(
  label: string,
  takenNano: Nano,
  { records, ...deps }: MeterDeps & { readonly records: PrepaidRecords },
): Promise<Metered> {
  const withMeter = (to: (meter: Meter) => Meter | null) =>
    records.change(label, (time) => {
      const meter = time?.meter === undefined ? null : to(time.meter);
      return time === null || meter === null ? null : { ...time, meter };
    });
  const planned = await withMeter((meter) => {
    const pendingNano = meter.pendingNano ?? takenNano;
    return pendingNano > meter.countedNano ? { ...meter, pendingNano } : null;
  });
  if (planned?.meter === undefined) return "counted";
  const { keyId, countedNano, steps } = planned.meter;
  const sumNano = planned.meter.pendingNano ?? takenNano;
  const cost = { keyId, step: steps + 1, byNano: minus(sumNano, countedNano) };
  const counted = await count(planned, cost, deps);
  if (counted === "later") return "later";
  const done = { countedNano: sumNano, steps: cost.step, pendingNano: null };
  // Null where another process counted the step as well.
  if (!(await withMeter((meter) => (meter.steps === steps ? { ...meter, ...done } : null)))) return "later";
  return sumNano < takenNano ? countTaken(label, takenNano, { records, ...deps }) : counted;
}

/** A hold of zero that ends with a cost moves the windows of unpaid cost, in either store. */
async function count(
  time: PrepaidSession,
  cost: { readonly keyId: string; readonly step: number; readonly byNano: Nano },
  deps: MeterDeps,
): Promise<Metered> {
  const { ledger, windows, observer, owner, clock } = deps;
  const {
    label,
    payer: { id, sandbox },
  } = time;
  const { keyId, step, byNano } = cost;
  const accountId = accountOf(time.payer);
  const payer = { id: id as AccountPayer["id"], sandbox, accountId, keyId };
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const hold = { accountId, holdId: `cost_${label}_${step}${tries === 0 ? "" : `_${tries}`}` };
    const asked = { owner, leaseMs: LEASE_MS, requestId: `req_meter_${label}`, asked: label, effect: "read" } as const;
    const request = { ...emptyHold(hold, payer, clock.epochMs()), ...asked };
    let placed = await ledger.reserve({ ...request, windows: windows.unpaid(payer) });
    const isFull = placed.outcome === "window_full";
    if (isFull) placed = await ledger.reserve({ ...request, windows: windows.unpaidGoingOn(payer) });
    // The key is revoked or paused: count on the account's first key, which is never revoked.
    if (placed.outcome === "unknown_key" || placed.outcome === "paused") {
      const [first] = await ledger.keys(accountId, { limit: 1, after: null });
      return first === undefined || first.keyId === keyId
        ? "later"
        : count(time, { ...cost, keyId: first.keyId }, deps);
    }
    if (placed.outcome === "exists" && placed.state === "voided") return "counted";
    if (placed.outcome === "exists" && placed.state === "expired") continue;
    if (placed.outcome !== "held" && placed.outcome !== "exists") return "later";
    const { outcome } = await ledger.void(hold, "what a machine took beside its time", { upstreamNano: byNano });
    if (outcome === "voided") observer.unpaid(ZERO, byNano);
    return isFull ? "at_bound" : "counted";
  }
  return "later";
}
