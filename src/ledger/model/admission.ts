// Whether money may be held: slots, the key's ceiling, the inference cap, the balance, in this order. Changes nothing.
import { type Nano, nano } from "../../money.ts";
import type { ReserveOutcome } from "./ledger.ts";
import { type AccountState, type KeyState, periodSum, type ScopeState, type SlotRequest } from "./state.ts";
import { DAY_MS, periodEnd } from "./windows.ts";

type Outcome<Name extends ReserveOutcome["outcome"]> = Extract<ReserveOutcome, { readonly outcome: Name }>;

/** How much is asked for, by whom, and for which day. `inference` is null where the call does not count there. */
export interface MoneyRequest {
  readonly account: AccountState;
  readonly key: KeyState;
  readonly keyScope: ScopeState;
  readonly inferenceScope: ScopeState | null;
  readonly day: number;
  readonly amount: number;
}

/** The first slot that is taken, or null. */
export function slotRefusal(account: AccountState, slots: readonly SlotRequest[]): Outcome<"slots"> | null {
  for (const { scope, max, code } of slots) {
    if ((account.slots.get(scope) ?? 0) >= max) return { outcome: "slots", code, max };
  }
  return null;
}

/** The first bound that has no room for the amount, or null. */
export function moneyRefusal(request: MoneyRequest): Outcome<"ceiling" | "inference_cap" | "insufficient"> | null {
  return ceilingRefusal(request) ?? capRefusal(request) ?? balanceRefusal(request.account, request.amount);
}

function ceilingRefusal({ key, keyScope, day, amount }: MoneyRequest): Outcome<"ceiling"> | null {
  if (key.ceilingNano === null) return null;
  const period = key.ceilingPeriod ?? "day";
  const end = periodEnd(period, day);
  const { spent, held, absorbed } = periodSum(keyScope, period, day, end);
  if (spent + held + absorbed + amount <= key.ceilingNano) return null;
  return {
    outcome: "ceiling",
    period,
    ceilingNano: key.ceilingNano,
    spentNano: nano(spent),
    heldNano: nano(held),
    absorbedNano: nano(absorbed),
    resetsAtMs: end * DAY_MS,
  };
}

function capRefusal({ account, inferenceScope, day, amount }: MoneyRequest): Outcome<"inference_cap"> | null {
  if (inferenceScope === null) return null;
  const { spent, held, absorbed } = periodSum(inferenceScope, "day", day, day + 1);
  if (spent + held + absorbed + amount <= account.inferenceCapNano) return null;
  return {
    outcome: "inference_cap",
    capNano: account.inferenceCapNano,
    spentNano: nano(spent),
    heldNano: nano(held),
    absorbedNano: nano(absorbed),
    resetsAtMs: (day + 1) * DAY_MS,
  };
}

function balanceRefusal(account: AccountState, amount: number): Outcome<"insufficient"> | null {
  const balance = account.granted - account.spent;
  const free = balance - account.held;
  if (free >= amount) return null;
  return {
    outcome: "insufficient",
    freeNano: free as Nano,
    heldNano: account.held as Nano,
    balanceNano: balance as Nano,
  };
}
