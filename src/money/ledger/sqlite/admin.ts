// Accounts, keys, credit and refunds: the ledger operations of people and of the admin listener.
import {
  type AccountRow,
  byOpening,
  KEYS_PER_ACCOUNT_MAX,
  type KeyCreation,
  type KeyRow,
  type NewAccount,
  type NewKey,
  onPage,
  type PeriodSums,
  type PostingRow,
  type RefundOutcome,
  type RotatedKey,
  type TopUpOutcome,
} from "../../../core/account-rows.ts";
import { GRANTED_NANO_MAX, type Nano, nano, ZERO } from "../../../core/money.ts";
import type { Ledger } from "../model/ledger.ts";
import { type AccountState, ceilingAfter, type KeyState, keyScope, periodSum } from "../model/state.ts";
import { setStrictBounds } from "../model/strict-bounds.ts";
import { DAY_MS, dayOf, periodEnd } from "../model/windows.ts";
import type { LedgerState } from "./state.ts";

/** What a method of the ledger is called with. An absent page is null here. */
export type Args<Name extends keyof Ledger> = Parameters<NonNullable<Ledger[Name]>>;

/** An account without money, keys or holds. */
export function newAccount(
  {
    accountId,
    name,
    kind,
    inferenceCapNano,
    requestsPerMinute,
    inFlightMax,
  }: Omit<NewAccount, "creditNano" | "primaryKey">,
  createdAtMs: number,
): AccountState {
  return {
    ...{ accountId, name, kind, createdAtMs, inferenceCapNano, requestsPerMinute, inFlightMax },
    ...{ frozen: false, granted: 0, spent: 0, held: 0, absorbed: 0, clockMs: createdAtMs, lastPosting: null },
    ...{ strictBounds: false, overruns: 0, overrunDay: null },
    ...{ keys: new Map(), holds: new Set(), scopes: new Map(), slots: new Map(), isInUse: true },
  };
}

/** Opens an account with its primary key. Opening credit is an ordinary top-up. */
export function openAccount(state: LedgerState, request: NewAccount): "opened" | "exists" {
  if (state.accounts.account(request.accountId) !== null) return "exists";
  const { accountId } = request;
  const createdAtMs = state.now().nowMs;
  const account = newAccount(request, createdAtMs);
  state.accounts.insertAccount(account);
  state.accounts.insertKey(account, newKey(account, request.primaryKey, true, createdAtMs));
  if (request.creditNano > 0) {
    credit(state, account, {
      transactionId: `open_${accountId}`,
      kind: "topup",
      amountNano: request.creditNano,
      reference: "opening credit",
      reason: null,
    });
  }
  return "opened";
}

function newKey(account: AccountState, key: NewKey, primary: boolean, createdAtMs: number): KeyState {
  return { ...key, accountId: account.accountId, primary, createdAtMs, paused: false, lastUsedAtMs: null };
}

export function patchAccount(state: LedgerState, [accountId, patch]: Args<"patchAccount">): AccountRow | null {
  const account = state.accounts.account(accountId);
  if (account === null) return null;
  state.tellChanged(accountId);
  const { strictBounds, ...profile } = patch;
  Object.assign(account, profile);
  state.accounts.writeProfile(account);
  if (strictBounds !== undefined) {
    setStrictBounds(account, strictBounds);
    state.accounts.writeOverruns(account);
  }
  return accountRow(account);
}

export function createKey(state: LedgerState, [accountId, key]: Args<"createKey">): KeyCreation {
  const account = state.accounts.account(accountId);
  if (account === null) return "unknown_account";
  for (const other of account.keys.values()) {
    if (key.externalId !== null && other.externalId === key.externalId) return "external_id_taken";
  }
  if (account.keys.size >= KEYS_PER_ACCOUNT_MAX) return "too_many_keys";
  state.accounts.insertKey(account, newKey(account, key, false, state.now().nowMs));
  return "created";
}

function findKey(state: LedgerState, accountId: string, keyId: string): KeyState | null {
  return state.accounts.account(accountId)?.keys.get(keyId) ?? null;
}

export function patchKey(state: LedgerState, [accountId, keyId, patch]: Args<"patchKey">): KeyRow | null {
  const key = findKey(state, accountId, keyId);
  if (key === null) return null;
  Object.assign(key, patch, ceilingAfter(key, patch));
  state.accounts.changedKey(key);
  state.tellChanged(accountId);
  return keyRow(state, key);
}

export function secretHash(state: LedgerState, [accountId, keyId]: Args<"secretHash">): string | null {
  return findKey(state, accountId, keyId)?.secretHash ?? null;
}

export function rotateKey(state: LedgerState, [accountId, keyId, newHash, hint]: Args<"rotateKey">): RotatedKey | null {
  const key = findKey(state, accountId, keyId);
  if (key === null) return null;
  state.tellChanged(accountId);
  const formerHash = key.secretHash;
  state.accounts.rotateKey(key, newHash, hint);
  const row = keyRow(state, key);
  return row === null ? null : { ...row, formerHash };
}

export function deleteKey(state: LedgerState, [accountId, keyId]: Args<"deleteKey">): boolean {
  const account = state.accounts.account(accountId);
  const key = account?.keys.get(keyId);
  if (!account || !key || key.primary) return false;
  state.accounts.deleteKey(account, key);
  state.tellChanged(accountId);
  return true;
}

/** Adds credit once per reference. */
export function topUp(
  state: LedgerState,
  [accountId, transactionId, amountNano, reference]: Args<"topUp">,
): TopUpOutcome {
  const account = state.accounts.account(accountId);
  if (account === null) return { outcome: "unknown_account" };
  const before = state.entries.postingByReference(accountId, "topup", reference);
  if (before !== null) return { outcome: "exists", balanceNano: balance(account) };
  if (account.granted + amountNano > GRANTED_NANO_MAX) return { outcome: "too_much" };
  credit(state, account, { transactionId, amountNano, reference, kind: "topup", reason: null });
  return { outcome: "credited", balanceNano: balance(account) };
}

/** Refunds a whole charge as credit, once; `spent` stays. */
export function refund(state: LedgerState, [transactionId, refundId, reason]: Args<"refund">): RefundOutcome {
  const charge = state.entries.posting(transactionId);
  const account = charge?.kind === "charge" ? state.accounts.account(charge.accountId) : null;
  if (!charge || !account) return { outcome: "unknown_transaction" };
  const before = state.entries.postingByReference(charge.accountId, "refund", transactionId);
  if (before !== null) return { outcome: "exists", refundId: before.transactionId, amountNano: before.amountNano };
  const { amountNano } = charge;
  credit(state, account, { transactionId: refundId, kind: "refund", amountNano, reference: transactionId, reason });
  return { outcome: "refunded", refundId, amountNano };
}

function credit(
  state: LedgerState,
  account: AccountState,
  entry: Pick<PostingRow, "transactionId" | "kind" | "amountNano" | "reference" | "reason">,
): void {
  const createdAtMs = state.accountNow(account);
  state.enter(account, {
    ...{ keyId: null, parentId: null, requestId: null, operation: null, asked: null, served: null, provider: null },
    ...{ chargedCents: 0, upstreamNano: ZERO, absorbedNano: ZERO, absorbReason: null, usage: null, estimated: false },
    ...{ priceVersion: null, legs: [], tags: [], day: null, inference: false, windows: null },
    ...{ beforeOfAccount: account.lastPosting, beforeOfKey: null },
    accountId: account.accountId,
    createdAtMs,
    ...entry,
  });
}

function balance(account: AccountState): Nano {
  return nano(account.granted - account.spent);
}

export function accountRow(account: AccountState): AccountRow {
  const { accountId, name, kind, createdAtMs, frozen, inferenceCapNano, requestsPerMinute, inFlightMax } = account;
  return {
    ...{ accountId, name, kind, createdAtMs, frozen, inferenceCapNano, requestsPerMinute, inFlightMax },
    strictBounds: account.strictBounds,
    grantedNano: account.granted as Nano,
    spentNano: account.spent as Nano,
    heldNano: account.held as Nano,
    absorbedNano: account.absorbed as Nano,
  };
}

export function keyRow(state: LedgerState, key: KeyState): KeyRow | null {
  const account = state.accounts.account(key.accountId);
  if (account === null) return null;
  const day = dayOf(state.accountNow(account));
  const period = key.ceilingNano === null ? "day" : (key.ceilingPeriod ?? "day");
  const scope = state.accounts.lookScope(account, keyScope(key.keyId), day);
  const { spent, held } = periodSum(scope, period, day, periodEnd(period, day));
  const { secretHash: _, ...shown } = key;
  return { ...shown, periodSpentNano: nano(spent), periodHeldNano: nano(held) };
}

export function oneKey(state: LedgerState, [accountId, keyId]: Args<"key">): KeyRow | null {
  const key = findKey(state, accountId, keyId);
  return key === null ? null : keyRow(state, key);
}

/** What each scope has spent on the account's current day. */
export function spentToday(state: LedgerState, [accountId, scopes]: Args<"spentToday">): Nano[] {
  const account = state.accounts.account(accountId);
  if (account === null) return scopes.map(() => ZERO);
  const day = dayOf(state.accountNow(account));
  return scopes.map((scope) => nano(state.accounts.lookScope(account, scope, day).days.get(day)?.spent ?? 0));
}

/** Each scope's sums in the account's current period. */
export function periodSums(state: LedgerState, [accountId, asked]: Args<"periodSums">): PeriodSums[] {
  const account = state.accounts.account(accountId);
  const day = dayOf(account === null ? state.now().nowMs : state.accountNow(account));
  return asked.map(({ scope, period }) => {
    const end = periodEnd(period, day);
    const none = { spent: 0, held: 0, absorbed: 0 };
    const sum = account === null ? none : periodSum(state.accounts.lookScope(account, scope, day), period, day, end);
    const { spent, held, absorbed } = sum;
    const resetsAtMs = end * DAY_MS;
    return { spentNano: nano(spent), heldNano: nano(held), absorbedNano: nano(absorbed), resetsAtMs };
  });
}

export function keyRows(state: LedgerState, [accountId, page]: Args<"keys">): KeyRow[] {
  const keys = onPage(state.accounts.account(accountId)?.keys.values() ?? [], page ?? undefined);
  return keys.map((key) => keyRow(state, key)).filter((row) => row !== null);
}

/** A page of accounts by id; without one all, oldest first. */
export function accountRows(state: LedgerState, [page]: Args<"accounts">): AccountRow[] {
  const rows: AccountRow[] = [];
  const ids = page == null ? state.accounts.accountIds() : state.accounts.idsAfter(page.after ?? "", page.limit);
  for (const accountId of ids) {
    const account = state.accounts.look(accountId);
    if (account !== null) rows.push(accountRow(account));
  }
  return page == null ? rows.sort(byOpening) : rows;
}
