// The state that the ledger's operations share: tables, live holds, the trusted time, and how a hold ends.
import type { PostingRow } from "../../../core/account-rows.ts";
import { add, chargedCents, type Nano, nano, ZERO } from "../../../core/money.ts";
import type { StoreTime } from "../../../platform/storage/sqlite-unit.ts";
import { leftOfRuns } from "../model/admission.ts";
import { guardClock } from "../model/clock-guard.ts";
import { eventId } from "../model/event.ts";
import type { HoldRef, HoldState, KeyFate, PostedCharge, PostRequest } from "../model/ledger.ts";
import {
  type AccountState,
  type DayState,
  INFERENCE_SCOPE,
  keyScope,
  type LiveHold,
  periodSum,
  releaseHold,
  takeHold,
} from "../model/state.ts";
import { countOverrun } from "../model/strict-bounds.ts";
import { BALANCE_SCOPE, costIn, marksPassed, type WindowList, windowList } from "../model/window-list.ts";
import { DAY_MS, dayOf, periodEnd, runOfScope } from "../model/windows.ts";
import type { AccountTables } from "./accounts.ts";
import type { EntryTables, PlacedPosting, StoredHold } from "./entries.ts";
import { RequestCounts } from "./request-counts.ts";

/** What a posting records beyond its hold. The sweeper, which posts for a dead owner, knows little of it. */
export type PostDetail = Pick<
  PostRequest,
  "amountNano" | "upstreamNano" | "beside" | "usage" | "estimated" | "legs" | "tags"
> &
  Pick<PostingRow, "absorbReason" | "provider" | "served" | "priceVersion" | "reason">;

/** Postings whose sums may wait in memory to be written together, in about a millisecond. */
const BEHIND_MAX = 256;

type PlacedHold = Pick<LiveHold, "keyId" | "day" | "inference" | "windows">;

export class LedgerState {
  readonly accounts: AccountTables;
  readonly entries: EntryTables;
  readonly requests = new RequestCounts();
  readonly holds = new Map<string, LiveHold>();
  /** Changes of the transaction to holds without a row, so that a rollback can undo them: the placed, and the ended. */
  readonly #placed = new Set<LiveHold>();
  #ended: LiveHold[] = [];
  /** The last posting, and the last that the stored sums count. The sums of those in between are in memory; a start counts them again. */
  #last = 0;
  #counted = 0;
  /** Accounts whose cached data in processes the transaction makes stale. */
  readonly #changed = new Set<string>();
  readonly #time: StoreTime;
  readonly #guard = guardClock();

  constructor(accounts: AccountTables, entries: EntryTables, time: StoreTime) {
    this.accounts = accounts;
    this.entries = entries;
    this.#time = time;
    this.#countRest();
    this.#loadHolds();
  }

  /** True if enough postings are uncounted that the sums should be written. */
  get isBehind(): boolean {
    return this.#last - this.#counted >= BEHIND_MAX;
  }

  /** Called before each commit. Writes the changes in memory that a start could not recompute from the postings. */
  flush(): void {
    if (this.accounts.mustFlush) this.catchUp();
  }

  /** Writes all that changed in memory. All together, so that the stored sums count the postings up to one number, and none after it. */
  catchUp(): void {
    this.accounts.flush();
    if (this.#counted === this.#last) return;
    this.entries.flush(this.#last);
    this.#counted = this.#last;
  }

  /** Counts the postings that the stored sums do not. One that does not continue its account's list is left to the doctor. */
  #countRest(): void {
    this.#counted = this.entries.counted();
    this.#last = this.#counted;
    for (const { posting, number } of this.entries.postingsAfter(this.#counted)) {
      this.#last = number;
      const account = this.accounts.account(posting.accountId);
      if (account !== null && posting.beforeOfAccount === account.lastPosting) this.#count(account, posting, number);
    }
  }

  committed(tell: (accountId: string) => void): void {
    this.#settled();
    this.requests.committed();
    for (const accountId of this.#changed) tell(accountId);
    this.#changed.clear();
  }

  #settled(): void {
    this.#placed.clear();
    this.#ended = [];
  }

  /** Marks an account, or its keys, as changed: processes drop their caches once this is committed. */
  tellChanged(accountId: string): void {
    this.#changed.add(accountId);
  }

  /** Reloads all state; holds without a row return to the last commit. */
  reload(): void {
    const unwritten = [...this.holds.values()].filter((hold) => !hold.written && !this.#placed.has(hold));
    unwritten.push(...this.#ended);
    this.#settled();
    this.requests.rolledBack();
    this.#changed.clear();
    this.entries.reload();
    this.accounts.clear();
    this.#countRest();
    this.holds.clear();
    this.#loadHolds();
    for (const hold of unwritten) this.#add({ ...hold, ...this.#takenFrom(hold.account.accountId, hold) });
  }

  elapsedMs(): number {
    return this.#time.elapsedMs;
  }

  /** The store's time, and whether it is trusted for new holds. */
  now() {
    return this.#guard(this.#time.epochMs, this.#time.elapsedMs);
  }

  /** The account's time, which never goes back. */
  accountNow(account: AccountState): number {
    return Math.max(account.clockMs, this.now().nowMs);
  }

  /** The account's live hold with this id, or null. */
  hold({ accountId, holdId }: HoldRef): LiveHold | null {
    const hold = this.holds.get(holdId);
    return hold?.account.accountId === accountId ? hold : null;
  }

  /** `isNew`: nothing has named the id before, unless it is live. */
  stateOf(holdId: string, isNew = false): HoldState | null {
    if (this.holds.has(holdId)) return "held";
    return isNew ? null : this.entries.endOf(holdId);
  }

  /** Makes a hold live, with or without a row. */
  place(hold: LiveHold): void {
    this.#add(hold);
    if (hold.written) this.entries.insertHold(hold);
    else this.#placed.add(hold);
  }

  /** Gives a hold its first row, with its current state. */
  write(hold: LiveHold): void {
    if (hold.written) return;
    if (!this.#placed.delete(hold)) this.#ended.push({ ...hold });
    hold.written = true;
    this.entries.insertHold(hold);
  }

  #add(hold: LiveHold): void {
    takeHold(hold);
    hold.account.holds.add(hold);
    this.holds.set(hold.holdId, hold);
  }

  /**
   * Posts a hold: charges at most the held amount; the rest is the operator's loss. `tellsCost`: the detail has our whole cost, so it
   * counts.
   */
  post(hold: LiveHold, detail: PostDetail, tellsCost: boolean): PostedCharge {
    const { account } = hold;
    const charged = nano(Math.min(detail.amountNano, hold.amount));
    const absorbed = nano(detail.amountNano - charged);
    const cents = chargedCents(account.spent as Nano, charged);
    const atMs = this.accountNow(account);
    const marked = hold.windows.marks.length > 0 && this.#tellsMarks(hold, { charged, absorbed, atMs });
    this.#remove(hold, "posted");
    this.enter(account, {
      transactionId: hold.holdId,
      kind: "charge",
      accountId: account.accountId,
      keyId: hold.keyId,
      parentId: hold.parentId,
      requestId: hold.requestId,
      createdAtMs: atMs,
      day: hold.day,
      inference: hold.inference,
      windows: countedOf(hold.windows, tellsCost && detail.beside === undefined),
      operation: hold.operation,
      asked: hold.asked,
      served: detail.served,
      provider: detail.provider,
      amountNano: charged,
      chargedCents: cents,
      upstreamNano: detail.upstreamNano,
      absorbedNano: absorbed,
      absorbReason: absorbed > 0 ? detail.absorbReason : null,
      usage: detail.usage,
      estimated: detail.estimated,
      priceVersion: detail.priceVersion,
      reference: null,
      reason: detail.reason,
      legs: detail.legs,
      tags: detail.tags ?? [],
      beforeOfAccount: account.lastPosting,
      beforeOfKey: this.accounts.lastPosting(this.accounts.scope(account, keyScope(hold.keyId), hold.day)),
    });
    if (tellsCost && detail.beside !== undefined) {
      const { chargedNano, costNano } = detail.beside;
      this.#countCost(hold, add(charged, chargedNano), add(detail.upstreamNano, costNano), false);
    }
    const balanceNano = nano(account.granted - account.spent);
    const left = leftOfRuns(hold.windows, (name) => this.accounts.scope(account, name, hold.day));
    const posted = {
      chargedNano: charged,
      chargedCents: cents,
      absorbedNano: absorbed,
      balanceNano,
      ...(left === null ? {} : { runLeftNano: left }),
      ...(marked ? { marked } : {}),
    };
    const strict = this.#becomesStrict(account, absorbed, atMs);
    if (marked || strict) this.tellChanged(account.accountId);
    return strict ? { ...posted, strict: true } : posted;
  }

  /** Writes a posting, and counts it. */
  enter(account: AccountState, posting: PlacedPosting): void {
    this.#last = this.entries.insertPosting(posting);
    this.#count(account, posting, this.#last);
  }

  /** Adds a posting to all sums in memory: when it is written, and again at a start if they were not. */
  #count(account: AccountState, posting: PlacedPosting, number: number): void {
    const { kind, keyId, day, inference, amountNano: charged, absorbedNano: absorbed, upstreamNano } = posting;
    account.clockMs = Math.max(account.clockMs, posting.createdAtMs);
    account.lastPosting = number;
    this.accounts.changed(account);
    this.entries.count(posting, number, account.kind === "sandbox");
    if (kind !== "charge") {
      account.granted = nano(account.granted + charged);
      return;
    }
    account.spent += charged;
    account.absorbed += absorbed;
    if (keyId === null || day === null) return;
    const counted = { keyId, day, inference, windows: windowList(posting.windows ?? "") };
    for (const of of this.holdDays(account, counted)) this.accounts.count(of, { charged, absorbed, number });
    this.#countCost({ ...counted, account }, charged, upstreamNano, true);
  }

  /** Counts a call's unpaid cost, or its margin, in the windows of cost. `isPosted`: a posting tells it. */
  #countCost(
    { account, day, windows }: Pick<LiveHold, "account" | "day" | "windows">,
    charged: Nano,
    upstream: Nano,
    isPosted: boolean,
  ): void {
    for (const window of windows.costs) {
      const by = costIn(window, charged, upstream);
      if (by > 0) this.accounts.countCost(this.accounts.day(account, window.scope, day), by, isPosted);
    }
  }

  /** Emits events for the hold's marks that a charge is about to pass; returns whether it passes any. */
  #tellsMarks(
    { account, day, windows }: LiveHold,
    { charged, absorbed, atMs }: { readonly charged: number; readonly absorbed: number; readonly atMs: number },
  ): boolean {
    const { accountId } = account;
    let passes = false;
    for (const window of windows.marks) {
      const { scope, period, max } = window;
      if (max === null) continue;
      if (scope === BALANCE_SCOPE) {
        const owned = account.granted - account.spent;
        if (owned < max || owned - charged >= max) continue;
        passes = true;
        const data = { balance_nano_usd: owned - charged, below_nano_usd: max };
        this.entries.events.tell({ id: eventId(accountId, scope, atMs), kind: "balance.low", accountId, atMs, data });
        continue;
      }
      const end = periodEnd(period, day);
      const sums = periodSum(this.accounts.scope(account, scope, day), period, day, end);
      const before = sums.spent + sums.absorbed;
      const runId = runOfScope(scope);
      for (const percent of marksPassed(window, max, before, before + charged + absorbed)) {
        passes = true;
        const id = eventId(accountId, scope, period, end, max, percent);
        if (runId !== null) {
          const data = { run_id: runId, percent, budget_nano_usd: max, spent_nano_usd: before + charged + absorbed };
          this.entries.events.tell({ id, kind: "run.mark", accountId, atMs, data });
          continue;
        }
        const data = { scope, percent, ceiling_nano_usd: max, period, resets_at_ms: end * DAY_MS };
        this.entries.events.tell({ id, kind: "budget.mark", accountId, atMs, data });
      }
    }
    return passes;
  }

  /** Counts an overrun; returns whether it makes the account's bounds strict. */
  #becomesStrict(account: AccountState, absorbed: number, atMs: number): boolean {
    const wasStrict = account.strictBounds;
    if (!countOverrun(account, absorbed, dayOf(atMs))) return false;
    this.accounts.writeOverruns(account);
    return account.strictBounds && !wasStrict;
  }

  /** Ends a hold without a charge. `keyFate` is the fate of its idempotency key. */
  release(
    hold: LiveHold,
    state: "voided" | "expired",
    how: { readonly reason: string; readonly keyFate: KeyFate | "expired"; readonly upstreamNano: Nano },
  ): void {
    const { reason, keyFate, upstreamNano } = how;
    this.#remove(hold, keyFate);
    this.#countCost(hold, ZERO, upstreamNano, false);
    this.entries.bury(hold.holdId, hold.account.accountId, { state, reason, atMs: this.accountNow(hold.account) });
  }

  /** Ends a hold without a row, leaving no trace. */
  forget(hold: LiveHold): void {
    this.#remove(hold, "free");
  }

  #remove(hold: LiveHold, keyFate: KeyFate | "posted" | "expired"): void {
    releaseHold(hold);
    hold.account.holds.delete(hold);
    this.holds.delete(hold.holdId);
    if (hold.written) this.entries.deleteHold(hold.holdId);
    else if (!this.#placed.delete(hold)) this.#ended.push(hold);
    this.entries.endIdempotency(hold, keyFate);
  }

  #loadHolds(): void {
    for (const row of this.entries.holds()) this.#add(this.#liveHold(row));
  }

  /** Every hold found at start gets a full lease again: nothing expires because of downtime. */
  #liveHold({ accountId, ...stored }: StoredHold): LiveHold {
    const inference = stored.inference === 1;
    const hold = { ...stored, inference, windows: windowList(stored.windows ?? "") };
    const slots = JSON.parse(stored.slots) as string[];
    const leaseEndsElapsedMs = this.elapsedMs() + stored.leaseMs;
    return { ...hold, ...this.#takenFrom(accountId, hold), slots, written: true, leaseEndsElapsedMs };
  }

  /** The account and days of an existing hold. */
  #takenFrom(accountId: string, hold: PlacedHold & { createdAtMs: number }) {
    const account = this.accounts.account(accountId);
    if (account === null) throw new Error(`a hold belongs to ${accountId}, which is no account`);
    account.clockMs = Math.max(account.clockMs, hold.createdAtMs);
    return { account, days: this.holdDays(account, hold) };
  }

  /** The days that count a hold's money. */
  holdDays(account: AccountState, { keyId, day, inference, windows }: PlacedHold): DayState[] {
    const days = [this.accounts.day(account, keyScope(keyId), day)];
    if (inference) days.push(this.accounts.day(account, INFERENCE_SCOPE, day));
    for (const { scope } of windows.charged) days.push(this.accounts.day(account, scope, day));
    return days;
  }
}

/** The windows that a posting records as moved; null where it moved only the store's own. */
function countedOf({ counted, countedCharges }: WindowList, tellsCost: boolean): string | null {
  return (tellsCost ? counted : countedCharges) || null;
}
