// Decides whether money may be held: slots, then windows (ceiling, inference cap, the hold's own), then the balance. Pure.
import type { WindowPeriod } from "../../../core/account-rows.ts";
import { type Nano, nano } from "../../../core/money.ts";
import type { ReserveOutcome } from "./ledger.ts";
import {
  type AccountState,
  INFERENCE_SCOPE,
  type KeyState,
  keyScope,
  periodSum,
  type ScopeState,
  type SlotRequest,
} from "./state.ts";
import type { Window, WindowList } from "./window-list.ts";
import { DAY_MS, periodEnd } from "./windows.ts";

type Outcome<Name extends ReserveOutcome["outcome"]> = Extract<ReserveOutcome, { readonly outcome: Name }>;

/** The amount, the account and key, the day, and the windows it counts in. */
export interface MoneyRequest {
  readonly account: AccountState;
  readonly key: KeyState;
  readonly inference: boolean;
  readonly windows: WindowList;
  readonly day: number;
  readonly amount: number;
  /** True where a hold grows: unpaid costs of other calls do not block it. */
  readonly grows: boolean;
  /** The scope's sums in every period of the day. */
  scope(name: string): ScopeState;
}

/** The first full slot, or null. */
function slotRefusal(account: AccountState, slots: readonly SlotRequest[]): Outcome<"slots"> | null {
  for (const { scope, max, code } of slots) {
    if ((account.slots.get(scope) ?? 0) >= max) return { outcome: "slots", code, max };
  }
  return null;
}

/** The first slot or bound without room for a new hold, or null. */
export function holdRefusal(request: MoneyRequest, slots: readonly SlotRequest[]) {
  return slotRefusal(request.account, slots) ?? moneyRefusal(request);
}

/** The first bound without room for the amount, or null. */
export function moneyRefusal(request: MoneyRequest) {
  return (
    ceilingRefusal(request) ??
    capRefusal(request) ??
    broughtRefusal(request) ??
    balanceRefusal(request.account, request.amount)
  );
}

/** The scope's sums in a period without room for the amount; null where it fits. */
function overfull(request: MoneyRequest, scope: string, period: WindowPeriod, max: number) {
  const end = periodEnd(period, request.day);
  const { spent, held, absorbed } = periodSum(request.scope(scope), period, request.day, end);
  if (spent + held + absorbed + request.amount <= max) return null;
  return { spentNano: nano(spent), heldNano: nano(held), absorbedNano: nano(absorbed), resetsAtMs: end * DAY_MS };
}

/** The least that the hold's runs have not spent yet; null where it is in no run. */
export function leftOfRuns({ charged }: WindowList, scope: (name: string) => ScopeState): Nano | null {
  let left: number | null = null;
  for (const window of charged) {
    if (window.period !== "run" || window.max === null) continue;
    const { spent, absorbed } = periodSum(scope(window.scope), "run", 0, periodEnd("run", 0));
    left = Math.max(0, Math.min(left ?? window.max, window.max - spent - absorbed));
  }
  return left === null ? null : nano(left);
}

function ceilingRefusal(request: MoneyRequest): Outcome<"ceiling"> | null {
  const { keyId, ceilingNano, ceilingPeriod } = request.key;
  if (ceilingNano === null) return null;
  const period = ceilingPeriod ?? "day";
  const over = overfull(request, keyScope(keyId), period, ceilingNano);
  return over === null ? null : { outcome: "ceiling", period, ceilingNano, ...over };
}

function capRefusal(request: MoneyRequest): Outcome<"inference_cap"> | null {
  if (!request.inference) return null;
  const capNano = request.account.inferenceCapNano;
  const over = overfull(request, INFERENCE_SCOPE, "day", capNano);
  return over === null ? null : { outcome: "inference_cap", capNano, ...over };
}

function broughtRefusal(request: MoneyRequest): Outcome<"window_full"> | null {
  for (const window of request.windows.charged) {
    const { scope, counts, code, max, period } = window;
    if (max === null) continue;
    const over = overfull(request, scope, period, max);
    if (over !== null) return { outcome: "window_full", scope, counts, code, maxNano: max, ...over };
  }
  if (request.grows) return null;
  for (const window of request.windows.costs) {
    const refused = costRefusal(request, window);
    if (refused !== null) return refused;
  }
  return null;
}

/** Below its bound the next call is admitted, whatever it may cost. */
function costRefusal({ day, scope: sumsOf }: MoneyRequest, window: Window): Outcome<"window_full"> | null {
  const { scope, period, max, code, counts, widenedBy } = window;
  if (max === null) return null;
  const end = periodEnd(period, day);
  const { spent } = periodSum(sumsOf(scope), period, day, end);
  if (spent < max) return null;
  const wider = widenedBy === undefined ? 0 : periodSum(sumsOf(widenedBy), period, day, end).spent;
  if (spent < max + wider) return null;
  const none = { heldNano: nano(0), absorbedNano: nano(0), resetsAtMs: end * DAY_MS };
  return { outcome: "window_full", scope, counts, code, maxNano: nano(max + wider), spentNano: nano(spent), ...none };
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
