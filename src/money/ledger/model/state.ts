// What the ledger knows in memory: accounts, keys, days, live holds. Plain data, and the sums that admission asks for.
import type { AccountKind, CeilingPeriod } from "../../../core/account-rows.ts";
import type { ErrorCode } from "../../../core/errors.ts";
import type { Nano } from "../../../core/money.ts";
import type { ReserveRequest } from "./ledger.ts";
import type { Overruns } from "./strict-bounds.ts";
import type { WindowList } from "./window-list.ts";
import { periodStart } from "./windows.ts";

/** What a scope (a key, an account's inference, what a hold has brought) has spent, holds, and has absorbed on one UTC day. */
export interface DayState {
  readonly of: ScopeState;
  readonly day: number;
  spent: number;
  held: number;
  absorbed: number;
  /** The number of the last posting counted here. */
  lastPosting: number | null;
}

export interface ScopeState {
  /** As it stands in its table. */
  readonly name: string;
  readonly days: Map<number, DayState>;
  /** Every stored day from this one on is in `days`. */
  loadedFrom: number;
  /** The number of the scope's last posting, on whatever day; undefined where it has not been looked up. */
  lastPosting: number | null | undefined;
}

export interface KeyState {
  readonly keyId: string;
  readonly accountId: string;
  readonly primary: boolean;
  readonly externalId: string | null;
  readonly createdAtMs: number;
  secretHash: string;
  hint: string;
  label: string;
  paused: boolean;
  ceilingNano: Nano | null;
  ceilingPeriod: CeilingPeriod | null;
  services: readonly string[] | null;
  models: readonly string[] | null;
  expiresAtMs: number | null;
  lastUsedAtMs: number | null;
}

export interface AccountState extends Overruns {
  readonly accountId: string;
  readonly kind: AccountKind;
  readonly createdAtMs: number;
  name: string;
  frozen: boolean;
  inferenceCapNano: Nano;
  requestsPerMinute: number;
  inFlightMax: number;
  granted: number;
  spent: number;
  held: number;
  absorbed: number;
  /** The latest time the account has seen: its clock never falls. */
  clockMs: number;
  /** The number of its last posting, from which its list is read backward. */
  lastPosting: number | null;
  readonly keys: Map<string, KeyState>;
  readonly holds: Set<LiveHold>;
  readonly scopes: Map<string, ScopeState>;
  /** Holds in each slot's scope. */
  readonly slots: Map<string, number>;
  /** It has been asked for since memory was last made room in. */
  isInUse: boolean;
}

/** What of a hold stands as it was reserved. */
type Reserved = Pick<
  ReserveRequest,
  "holdId" | "keyId" | "parentId" | "requestId" | "operation" | "asked" | "effect" | "inference" | "owner" | "onExpire"
>;

/** A live hold. */
export interface LiveHold extends Reserved {
  readonly account: AccountState;
  /** The day of its reserve, which its money belongs to for ever. */
  readonly day: number;
  /** What it has brought beside the store's own. */
  readonly windows: WindowList;
  readonly slots: readonly string[];
  readonly idempotencyKey: string | null;
  readonly createdAtMs: number;
  /** What its money is counted in: its key's day, the account's inference day where it counts there, and what it has brought. */
  readonly days: readonly DayState[];
  /** It has a row; what has none ends with the process. */
  written: boolean;
  amount: number;
  accrued: number;
  leaseMs: number;
  /** On the clock that only goes forward, and only while the store is up: nothing expires because we were away. */
  leaseEndsElapsedMs: number;
}

export interface SlotRequest {
  readonly scope: string;
  readonly max: number;
  readonly code: ErrorCode;
}

/** The scopes that the store bounds by what it keeps itself: of a key's spending, and of an account's inference. */
export const keyScope = (keyId: string): string => `key:${keyId}`;
export const INFERENCE_SCOPE = "inference";
/** What the stored names of all other scopes of an account begin with. */
export const broughtScopes = (accountId: string): string => `of:${accountId}:`;

/** A scope of an account as it is named where the scopes of all accounts stand together. */
export function storedScope(accountId: string, scope: string): string {
  if (scope === INFERENCE_SCOPE) return `inference:${accountId}`;
  return scope.startsWith("key:") ? scope : `${broughtScopes(accountId)}${scope}`;
}

/** The sums of a scope from the first day of `day`'s period up to the period's end. */
export function periodSum(scope: ScopeState, period: CeilingPeriod, day: number, end: number) {
  let spent = 0;
  let held = 0;
  let absorbed = 0;
  for (let at = periodStart(period, day); at < end; at++) {
    const state = scope.days.get(at);
    if (state === undefined) continue;
    spent += state.spent;
    held += state.held;
    absorbed += state.absorbed;
  }
  return { spent, held, absorbed };
}

/** Counts a hold in everything that bounds it. */
export function takeHold(hold: LiveHold): void {
  const { account } = hold;
  account.held += hold.amount;
  account.holds.add(hold);
  for (const day of hold.days) day.held += hold.amount;
  for (const scope of hold.slots) account.slots.set(scope, (account.slots.get(scope) ?? 0) + 1);
}

/** The opposite of `takeHold`. */
export function releaseHold(hold: LiveHold): void {
  const { account } = hold;
  account.held -= hold.amount;
  account.holds.delete(hold);
  for (const day of hold.days) day.held -= hold.amount;
  for (const scope of hold.slots) {
    const left = (account.slots.get(scope) ?? 0) - 1;
    if (left > 0) account.slots.set(scope, left);
    else account.slots.delete(scope);
  }
}
