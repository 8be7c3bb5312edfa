// Reads each minute what a vendor charges besides the paid time, such as traffic: unpaid cost of the account.

import type { Accounts } from "../../core/account-rows.ts";
import type { Clock } from "../../core/clock.ts";
import { minus, type Nano, ZERO } from "../../core/money.ts";
import type { AccountPayer } from "../../core/plan.ts";
import type { CallWindows } from "../../kernel/windows.ts";
import type { Money, ReserveOutcome } from "../../money/ledger/model/ledger.ts";
import type { Window } from "../../money/ledger/model/window-list.ts";
import type { Observer } from "../../platform/observe/observer.ts";
import type { Records } from "../../platform/records/records.ts";
import { keepPrepaid, type PrepaidSession, type StoredPrepaidSession } from "./prepaid-session-records.ts";
import { emptyHold } from "./prepaid-session-slots.ts";

/** How often a meter is read. Bounds what a machine can cost us before we check its account's bound. */
export const METER_MS = 60_000;
/** The hold ends as soon as it is placed. */
const LEASE_MS = 60_000;
/** Where a process dies between placing and ending a hold, the hold expires and the next try counts instead. */
const TRIES_MAX = 5;

export interface MeterDeps {
  readonly records: Records;
  readonly clock: Clock;
  readonly ledger: Pick<Money, "reserve" | "void"> & Pick<Accounts, "keys">;
  readonly windows: CallWindows;
  readonly observer: Pick<Observer, "unpaid">;
  readonly owner: string;
}

/** `at_bound`: counted, and the account has reached today's bound on unpaid cost. `later`: could not be counted now. */
export type Metered = "counted" | "at_bound" | "later";

interface Step {
  readonly payer: AccountPayer;
  readonly label: string;
  /** Unique to the step. */
  readonly name: string;
  readonly byNano: Nano;
}

/** Counts a machine's cost so far exactly once: the amount is stored under the step's name before the ledger is called. */
export async function countTaken(stored: StoredPrepaidSession, takenNano: Nano, deps: MeterDeps): Promise<Metered> {
  const { time, version } = stored;
  const { meter } = time;
  if (meter === undefined) return "counted";
  const pendingNano = meter.pendingNano ?? takenNano;
  if (pendingNano <= meter.countedNano) return "counted";
  const planned: PrepaidSession = { ...time, meter: { ...meter, pendingNano } };
  if (meter.pendingNano === null && !(await keepPrepaid(deps.records, planned, version))) return "later";
  const steps = meter.steps + 1;
  const payer: AccountPayer = {
    id: time.payer.id as AccountPayer["id"],
    sandbox: time.payer.sandbox,
    accountId: time.payer.id.slice("acct:".length),
    keyId: meter.keyId,
  };
  const byNano = minus(pendingNano, meter.countedNano);
  const counted = await count({ payer, label: time.label, name: `cost_${time.label}_${steps}`, byNano }, deps);
  if (counted === "later") return "later";
  const done: PrepaidSession = { ...time, meter: { ...meter, countedNano: pendingNano, steps, pendingNano: null } };
  const atVersion = meter.pendingNano === null ? version + 1 : version;
  return (await keepPrepaid(deps.records, done, atVersion)) ? counted : "later";
}

/** A hold of zero that ends with a cost moves the windows of unpaid cost, in either store. */
async function count({ payer, label, name, byNano }: Step, deps: MeterDeps): Promise<Metered> {
  const { ledger, windows, observer, owner, clock } = deps;
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const hold = { accountId: payer.accountId, holdId: tries === 0 ? name : `${name}_${tries}` };
    const place = (brought: readonly Window[]) =>
      ledger.reserve({
        ...emptyHold(hold, payer, clock.epochMs()),
        windows: brought,
        owner,
        leaseMs: LEASE_MS,
        requestId: `req_meter_${label}`,
        asked: label,
        effect: "read",
      });
    let placed: ReserveOutcome = await place(windows.unpaid(payer));
    const isFull = placed.outcome === "window_full";
    if (isFull) placed = await place(windows.unpaidGoingOn(payer));
    // The key is revoked or paused: count on the account's first key, which is never revoked.
    if (placed.outcome === "unknown_key" || placed.outcome === "paused") {
      const [first] = await ledger.keys(payer.accountId, { limit: 1, after: null });
      if (first === undefined || first.keyId === payer.keyId) return "later";
      return count({ payer: { ...payer, keyId: first.keyId }, label, name, byNano }, deps);
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
