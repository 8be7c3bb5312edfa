// The ledger's state in memory: accounts, keys, days, live holds. Plain data, and the sums that admission reads.
import type { AccountKind, CeilingPeriod, KeyLimits, WindowPeriod } from "../../../core/account-rows.ts";
import type { ErrorCode } from "../../../core/errors.ts";
import type { Nano } from "../../../core/money.ts";
import type { ReserveRequest } from "./ledger.ts";
import type { Overruns } from "./strict-bounds.ts";
import type { WindowList } from "./window-list.ts";
import { periodStart } from "./windows.ts";

type Ceiling = Pick<KeyLimits, "ceilingNano" | "ceilingPeriod">;

/**
 * The ceiling after a change that may name only its amount or only its period. A concurrent change may have added or
 * removed the ceiling. An amount without a period is a daily ceiling; a period without an amount is ignored.
 */
export function ceilingAfter(before: Ceiling, patch: Partial<Ceiling>): Ceiling {
  const { ceilingNano = before.ceilingNano, ceilingPeriod = before.ceilingPeriod } = patch;
  return { ceilingNano, ceilingPeriod: ceilingNano === null ? null : (ceilingPeriod ?? "day") };
}

/** What a scope (a key, an account's inference, a hold's own window) has spent, holds, and has absorbed on one UTC day. */
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
  readonly name: string;
  readonly days: Map<number, DayState>;
  /** All stored days from this one on are loaded in `days`. */
  loadedFrom: number;
  /** The number of the scope's last posting on any day; undefined until it is looked up. */
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
  /** The latest time that the account has seen; never decreases. */
  clockMs: number;
  /** The number of its last posting, where its list begins. */
  lastPosting: number | null;
  readonly keys: Map<string, KeyState>;
  readonly holds: Set<LiveHold>;
  readonly scopes: Map<string, ScopeState>;
  /** The count of holds in each slot. */
  readonly slots: Map<string, number>;
  /** Used since the last eviction. */
  isInUse: boolean;
}

/** The fields of a hold that never change after its reserve. */
type Reserved = Pick<
  ReserveRequest,
  "holdId" | "keyId" | "parentId" | "requestId" | "operation" | "asked" | "effect" | "inference" | "owner" | "onExpire"
>;

export interface LiveHold extends Reserved {
  readonly account: AccountState;
  /** The day of the reserve. The hold's money counts in this day for good. */
  readonly day: number;
  /** The hold's own windows, beside those that the store keeps itself. */
  readonly windows: WindowList;
  readonly slots: readonly string[];
  readonly idempotencyKey: string | null;
  readonly createdAtMs: number;
  /** The days that count the hold: its key's, the account's inference day where it applies, and those of its own windows. */
  readonly days: readonly DayState[];
  /** The hold has a row; one without a row ends with the process. */
  written: boolean;
  amount: number;
  accrued: number;
  leaseMs: number;
  /** On a monotonic clock that runs only while the store is up, so that nothing expires during downtime. */
  leaseEndsElapsedMs: number;
}

export interface SlotRequest {
  readonly scope: string;
  readonly max: number;
  readonly code: ErrorCode;
}

/** Scopes with bounds that the store keeps itself: a key's spending, and an account's inference. */
export const keyScope = (keyId: string): string => `key:${keyId}`;
export const INFERENCE_SCOPE = "inference";
/** The prefix of the stored names of an account's other scopes. */
export const broughtScopes = (accountId: string): string => `of:${accountId}:`;

/** A scope's name in tables that cover all accounts. */
export function storedScope(accountId: string, scope: string): string {
  if (scope === INFERENCE_SCOPE) return `inference:${accountId}`;
  return scope.startsWith("key:") ? scope : `${broughtScopes(accountId)}${scope}`;
}

/** A scope's sums on a day, which begin at nothing. */
export function dayIn(of: ScopeState, day: number): DayState {
  let state = of.days.get(day);
  if (state === undefined) {
    state = { of, day, spent: 0, held: 0, absorbed: 0, lastPosting: null };
    of.days.set(day, state);
  }
  return state;
}

/** A scope's sums over the period that contains `day`. */
export function periodSum(scope: ScopeState, period: WindowPeriod, day: number, end: number) {
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

/** What of a hold bounds others. */
export type CountedHold = Pick<LiveHold, "account" | "amount" | "days" | "slots">;

/** Adds a hold to all sums that bound further ones. */
export function takeHold(hold: CountedHold): void {
  const { account } = hold;
  account.held += hold.amount;
  for (const day of hold.days) day.held += hold.amount;
  for (const scope of hold.slots) account.slots.set(scope, (account.slots.get(scope) ?? 0) + 1);
}

/** The opposite of `takeHold`. */
export function releaseHold(hold: CountedHold): void {
  const { account } = hold;
  account.held -= hold.amount;
  for (const day of hold.days) day.held -= hold.amount;
  for (const scope of hold.slots) {
    const left = (account.slots.get(scope) ?? 0) - 1;
    if (left > 0) account.slots.set(scope, left);
    else account.slots.delete(scope);
  }
}
