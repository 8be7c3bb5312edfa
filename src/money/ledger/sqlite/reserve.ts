// Places and grows holds: all checks first, then writes that cannot fail.
import { minus, type Nano } from "../../../core/money.ts";
import { holdRefusal, leftOfRuns, moneyRefusal } from "../model/admission.ts";
import { eventId } from "../model/event.ts";
import type { ExtendOutcome, HoldRef, ReserveOutcome, ReserveRequest, Standing } from "../model/ledger.ts";
import type { AccountState, KeyState, LiveHold } from "../model/state.ts";
import { type WindowList, windowList } from "../model/window-list.ts";
import { dayOf } from "../model/windows.ts";
import type { Counting } from "./request-counts.ts";
import type { LedgerState } from "./state.ts";

/** The store's clock and the caller's may differ by this much. */
export const SKEW_MS_MAX = 30_000;

type Keeping = Pick<ReserveRequest, "unwritten" | "idempotency" | "onExpire">;

/** Whether the hold gets a row; one that a crash would void anyway has none. */
export function isWritten({ unwritten, idempotency, onExpire }: Keeping): boolean {
  return !unwritten || idempotency !== null || onExpire !== "void";
}

/** A request as it reaches the store, with its windows in compact form. */
export type BroughtRequest = Omit<ReserveRequest, "windows" | "window"> & {
  readonly windows: string;
  readonly window: NonNullable<ReserveRequest["window"]> | null;
};

/** Whether memory alone decides on the request, and keeps the hold. The first use of a key is an event, which has a row. */
export function staysInMemory(
  { accounts }: LedgerState,
  { accountId, keyId, isNew, ...keeping }: Keeping & Pick<ReserveRequest, "accountId" | "keyId" | "isNew">,
): boolean {
  const key = accounts.inMemory(accountId)?.keys.get(keyId);
  return isNew === true && !isWritten(keeping) && typeof key?.lastUsedAtMs === "number";
}

/** Holds the amount, or returns the refusal. */
export function reserve(state: LedgerState, request: BroughtRequest): ReserveOutcome {
  const account = state.accounts.account(request.accountId);
  if (account === null) return { outcome: "unknown_account" };
  const known = state.stateOf(request.holdId, request.isNew);
  if (known !== null) return { outcome: "exists", state: known };
  const key = account.keys.get(request.keyId);
  if (key === undefined) return { outcome: "unknown_key" };
  if (account.frozen) return { outcome: "frozen" };
  if (key.paused) return { outcome: "paused" };
  const { nowMs, skewed } = state.now();
  if (skewed || Math.abs(nowMs - request.nowMs) > SKEW_MS_MAX) return { outcome: "clock_skew" };

  const atMs = Math.max(account.clockMs, nowMs);
  const day = dayOf(atMs);
  const windows = windowList(request.windows);
  const scope = (name: string) => state.accounts.scope(account, name, day);
  const { accountId, window: bound } = request;
  const counting = bound === null ? null : { accountId, atMs, nowMs, bound };
  const refused =
    idempotencyRefusal(state, request, atMs) ??
    windowRefusal(state, counting) ??
    holdRefusal(
      { account, key, inference: request.inference, windows, day, amount: request.amountNano, grows: false, scope },
      request.slots,
    );
  if (refused !== null) return refused;

  place(state, request, { account, key, atMs, day, windows, elapsedMs: state.elapsedMs() });
  const left = leftOfRuns(windows, scope);
  const held = { outcome: "held", ...(left === null ? {} : { runLeftNano: left }) } as const;
  if (counting === null) return held;
  state.requests.take(counting);
  return { ...held, window: state.requests.room(counting) };
}

function windowRefusal({ requests }: LedgerState, counting: Counting | null): ReserveOutcome | null {
  if (counting === null) return null;
  const { remaining, resetSeconds } = requests.room(counting);
  return remaining > 0 ? null : { outcome: "window", limit: counting.bound.limit, resetSeconds };
}

interface Placing {
  readonly account: AccountState;
  readonly key: KeyState;
  readonly atMs: number;
  readonly day: number;
  readonly windows: WindowList;
  /** When the lease begins. */
  readonly elapsedMs: number;
}

function place(
  state: LedgerState,
  request: BroughtRequest,
  { account, key, atMs, day, windows, elapsedMs }: Placing,
): void {
  const { holdId, keyId, parentId, requestId, operation, asked, effect, inference, owner, onExpire, leaseMs } = request;
  const hold: LiveHold = {
    ...{ holdId, account, keyId, parentId, requestId, operation, asked, effect, day, inference, owner, onExpire },
    windows,
    slots: request.slots.map((slot) => slot.scope),
    idempotencyKey: request.idempotency?.key ?? null,
    createdAtMs: atMs,
    days: state.holdDays(account, { keyId, day, inference, windows }),
    written: isWritten(request),
    amount: request.amountNano,
    accrued: 0,
    leaseMs,
    leaseEndsElapsedMs: elapsedMs + leaseMs,
  };
  account.clockMs = Math.max(account.clockMs, atMs);
  state.place(hold);
  if (key.lastUsedAtMs === null) {
    const event = { kind: "key.first_use", accountId: account.accountId, atMs, data: { key_id: keyId } } as const;
    state.entries.events.tell({ id: eventId(account.accountId, keyId, "first use"), ...event });
  }
  state.accounts.used(key, atMs);
  if (request.idempotency !== null) {
    const { fingerprint, keepMs } = request.idempotency;
    state.entries.putIdempotency(hold, fingerprint, atMs + keepMs);
  }
}

/** Places a hold that its process has decided on at `atMs` (admissions.ts). */
export function placeDecided(
  state: LedgerState,
  request: BroughtRequest,
  { atMs, elapsedMs }: Pick<Placing, "atMs" | "elapsedMs">,
): null {
  const account = state.accounts.account(request.accountId);
  const key = account?.keys.get(request.keyId);
  if (account === null || typeof key?.lastUsedAtMs !== "number" || state.holds.has(request.holdId))
    throw new Error(`${request.holdId} cannot be placed`);
  place(state, request, { account, key, atMs, day: dayOf(atMs), windows: windowList(request.windows), elapsedMs });
  return null;
}

/** What an earlier call with the same idempotency key means for this one; null: run it. */
function idempotencyRefusal(state: LedgerState, request: BroughtRequest, atMs: number): ReserveOutcome | null {
  if (request.idempotency === null) return null;
  const { key, fingerprint } = request.idempotency;
  const row = state.entries.idempotency(request.accountId, request.keyId, key);
  if (row === null || (row.state !== "held" && row.lapsesAtMs <= atMs)) return null;
  // An uncharged call frees its key, whatever this request contains.
  if (row.state === "voided" || (row.state === "expired" && row.effect === "read")) return null;
  if (row.fingerprint !== fingerprint) return { outcome: "idempotency_mismatch" };
  if (row.state === "held") return { outcome: "idempotency_in_progress", holdId: row.holdId };
  if (row.state === "posted" || row.state === "answered") return { outcome: "idempotency_done", holdId: row.holdId };
  return { outcome: "idempotency_unknown", holdId: row.holdId };
}

/** Grows a hold, records how much of it is used, and renews its lease. */
export function extend(
  state: LedgerState,
  { hold: ref, amountNano, accrued, leaseMs }: { hold: HoldRef; amountNano: Nano; accrued: Nano; leaseMs: number },
): ExtendOutcome {
  const hold = state.hold(ref);
  if (hold === null) return { outcome: "gone", state: state.entries.endOf(ref.holdId) ?? "missing" };
  const more = minus(amountNano, hold.amount as Nano);
  const refused = more === 0 ? null : growthRefusal(state, hold, more);
  if (refused !== null) return refused;
  state.write(hold);
  hold.account.held += more;
  for (const day of hold.days) day.held += more;
  hold.amount += more;
  hold.accrued = Math.min(hold.amount, Math.max(hold.accrued, accrued));
  hold.leaseMs = leaseMs;
  hold.leaseEndsElapsedMs = state.elapsedMs() + leaseMs;
  state.entries.updateHold(hold);
  return { outcome: "extended", amountNano: hold.amount as Nano };
}

/** Whether the hold's key and account can still pay. */
export function standing(state: LedgerState, ref: HoldRef): Standing {
  const hold = state.hold(ref);
  if (hold === null) return "gone";
  const key = hold.account.keys.get(hold.keyId);
  if (key === undefined) return "unknown_key";
  if (hold.account.frozen) return "frozen";
  return key.paused ? "paused" : "good";
}

function growthRefusal(state: LedgerState, hold: LiveHold, more: Nano): ExtendOutcome | null {
  const { account, day, inference, windows } = hold;
  const key = account.keys.get(hold.keyId);
  if (key === undefined) return { outcome: "unknown_key" };
  if (account.frozen) return { outcome: "frozen" };
  if (key.paused) return { outcome: "paused" };
  const scope = (name: string) => state.accounts.scope(account, name, day);
  return moneyRefusal({ account, key, inference, windows, day, amount: more, grows: true, scope });
}
