// Decides about holds of calls in the serving process, so that a reserve waits for no other thread. The storage thread gets each decision
// with the next message, in order, and decides everything else. An account is loaded as a snapshot of the thread's state. Decisions and ends
// of holds then change it here too; any other change drops it. An end counts only once it is on disk, so the process never sees more free
// money than there is.
import type { SqliteThread, UnitCaller } from "../../../platform/storage/thread-client.ts";
import { holdRefusal, leftOfRuns } from "../model/admission.ts";
import { guardClock } from "../model/clock-guard.ts";
import type {
  HoldRef,
  PostOutcome,
  PostRequest,
  ReserveOutcome,
  ReserveRequest,
  VoidOutcome,
} from "../model/ledger.ts";
import { releaseHold, takeHold } from "../model/state.ts";
import { costIn, type Window, type WindowList, windowList, windowsText } from "../model/window-list.ts";
import { dayOf } from "../model/windows.ts";
import { reserveList } from "./compact.ts";
import { isWritten, SKEW_MS_MAX } from "./reserve.ts";
import { LoadedAccount, type LoadedHold, moneyScopes } from "./snapshot.ts";
import type { LedgerOperations } from "./unit.ts";

/** The least recently used leave memory. */
const ACCOUNTS_MAX = 5_000;
/** Scopes of an account, of which each run is one; beyond that it is dropped. */
const SCOPES_MAX = 2_000;
/** Loads for one reserve, as others can drop the account meanwhile. */
const LOADS_MAX = 3;
/** How long an account that cannot be loaded, because it has too many holds, is left to the storage thread. */
const LEFT_MS = 1_000;
const LOSABLE = { mayBeLost: true } as const;

/** What waiting reserves want loaded. */
interface Wanted {
  readonly keyIds: Set<string>;
  readonly scopes: Set<string>;
  waiting: number;
}

/** What a reserve needs to know of its account. */
interface Needs {
  readonly keyId: string;
  /** Those that count its money come first. */
  readonly scopes: readonly string[];
  readonly moneyScopes: number;
  readonly windows: WindowList;
}

function needsOf(request: ReserveRequest): Needs {
  const windows = windowList(windowsText(request.windows));
  const scopes = moneyScopes(request, windows);
  const { length } = scopes;
  for (const { scope, widenedBy } of windows.costs) {
    scopes.push(scope);
    if (widenedBy !== undefined) scopes.push(widenedBy);
  }
  return { keyId: request.keyId, scopes, moneyScopes: length, windows };
}

function has({ account }: LoadedAccount, { keyId, scopes }: Needs): boolean {
  for (const scope of scopes) if (!account.scopes.has(scope)) return false;
  return account.keys.has(keyId);
}

export class Admissions {
  readonly #thread: Pick<SqliteThread, "admits" | "clock">;
  readonly #call: UnitCaller<LedgerOperations>;
  readonly #guard = guardClock();
  /** In the order of their last use. */
  readonly #accounts = new Map<string, LoadedAccount>();
  /** Dropping an account also drops its load. */
  readonly #loads = new Map<string, Promise<void>>();
  readonly #wanted = new Map<string, Wanted>();
  /** Accounts left to the storage thread, and until when by the process's elapsed time. */
  readonly #left = new Map<string, number>();

  constructor(thread: Pick<SqliteThread, "admits" | "clock">, call: UnitCaller<LedgerOperations>) {
    this.#thread = thread;
    this.#call = call;
    this.#now();
  }

  #now() {
    const { clock } = this.#thread;
    return this.#guard(clock.epochMs(), clock.elapsedMs());
  }

  reserve(request: ReserveRequest): Promise<ReserveOutcome> {
    const isDecided = request.isNew === true && request.window === undefined && !isWritten(request);
    if (!isDecided || !this.#thread.admits() || this.#isLeft(request.accountId)) return this.#ask(request);
    const loaded = this.#accounts.get(request.accountId);
    const needs = needsOf(request);
    if (loaded === undefined || !has(loaded, needs)) return this.#loadFor(request, needs);
    const outcome = this.#decide(loaded, request, needs);
    return outcome === null ? this.#ask(request) : Promise.resolve(outcome);
  }

  /** Decides a hold, and sends it if it is placed. Null: the storage thread must decide. */
  #decide(loaded: LoadedAccount, request: ReserveRequest, needs: Needs): ReserveOutcome | null {
    const { account } = loaded;
    const { nowMs, skewed } = this.#now();
    if (skewed || Math.abs(nowMs - request.nowMs) > SKEW_MS_MAX || loaded.holds.has(request.holdId)) return null;
    const key = account.keys.get(request.keyId);
    // The first use of a key is an event, which has a row.
    if (key === undefined || key.lastUsedAtMs === null) return null;
    if (account.frozen) return { outcome: "frozen" };
    if (key.paused) return { outcome: "paused" };
    account.clockMs = Math.max(account.clockMs, nowMs);
    // The storage thread may place a hold on the day before or after.
    if (loaded.asked > 0 && dayOf(account.clockMs) !== loaded.askedOn) return null;
    this.#accounts.delete(request.accountId);
    this.#accounts.set(request.accountId, loaded);
    const taken = this.#take(loaded, request, needs);
    if ("outcome" in taken) return taken;
    const placing = [reserveList(request), account.clockMs, this.#thread.clock.elapsedMs()] as const;
    void this.#call("place", placing, { onFailed: () => this.drop(request.accountId) });
    const left = leftOfRuns(needs.windows, (name) => scopeOf(loaded, name));
    return left === null ? { outcome: "held" } : { outcome: "held", runLeftNano: left };
  }

  /** Takes a hold in memory, or says what has no room for it. */
  #take(loaded: LoadedAccount, request: ReserveRequest, needs: Needs): LoadedHold | Refusal {
    const { account } = loaded;
    const { windows } = needs;
    const { holdId, keyId, inference, amountNano: amount } = request;
    const day = dayOf(account.clockMs);
    const key = account.keys.get(keyId);
    if (key === undefined) return { outcome: "unknown_key" };
    const scope = (name: string) => scopeOf(loaded, name);
    const wanted = { account, key, inference, windows, day, amount, grows: false, scope };
    const refused = holdRefusal(wanted, request.slots);
    if (refused !== null) return refused;
    const days = [];
    for (let at = 0; at < needs.moneyScopes; at++) {
      const sums = loaded.day(needs.scopes[at] ?? "", day);
      if (sums !== null) days.push(sums);
    }
    const hold = { account, holdId, amount, day, windows, days, slots: request.slots.map((slot) => slot.scope) };
    takeHold(hold);
    loaded.holds.set(holdId, hold);
    return hold;
  }

  /** Has the storage thread decide. Until it has, the hold counts here; where it does not fit here, later decisions are the thread's too. */
  #ask(request: ReserveRequest): Promise<ReserveOutcome> {
    const { accountId, holdId } = request;
    const loaded = this.#accounts.get(accountId);
    const hold = loaded === undefined ? null : this.#takeWhileAsking(loaded, request);
    if (hold === null) this.drop(accountId);
    const asked = this.#call("reserve", reserveList(request), isWritten(request) ? undefined : LOSABLE);
    if (loaded === undefined || hold === null) return asked;
    const settle = (isHeld: boolean) => {
      loaded.asked -= 1;
      this.#see(loaded);
      const key = loaded.account.keys.get(request.keyId);
      if (!isHeld) release(loaded, holdId, hold);
      else if (dayOf(loaded.account.clockMs) !== hold.day) this.drop(accountId);
      else if (key !== undefined) key.lastUsedAtMs ??= loaded.account.clockMs;
    };
    return asked.then(
      (answer) => {
        settle(answer.outcome === "held");
        return answer;
      },
      (error) => {
        settle(false);
        throw error;
      },
    );
  }

  #takeWhileAsking(loaded: LoadedAccount, request: ReserveRequest): LoadedHold | null {
    const needs = needsOf(request);
    this.#see(loaded);
    const day = dayOf(loaded.account.clockMs);
    if (!has(loaded, needs) || loaded.holds.has(request.holdId) || (loaded.asked > 0 && loaded.askedOn !== day))
      return null;
    const hold = this.#take(loaded, request, needs);
    if ("outcome" in hold) return null;
    loaded.asked += 1;
    loaded.askedOn = day;
    return hold;
  }

  async #loadFor(request: ReserveRequest, needs: Needs): Promise<ReserveOutcome> {
    const { accountId } = request;
    const wanted = this.#wanted.get(accountId) ?? { keyIds: new Set(), scopes: new Set(), waiting: 0 };
    this.#wanted.set(accountId, wanted);
    wanted.waiting += 1;
    let outcome: ReserveOutcome | null = null;
    for (let loads = 0, isLoaded = false; loads < LOADS_MAX && !isLoaded && !this.#isLeft(accountId); loads++) {
      wanted.keyIds.add(request.keyId);
      for (const scope of needs.scopes) wanted.scopes.add(scope);
      await (this.#loads.get(accountId) ?? this.#load(accountId, wanted));
      const loaded = this.#accounts.get(accountId);
      isLoaded = loaded !== undefined && has(loaded, needs);
      if (isLoaded && loaded !== undefined && this.#thread.admits()) outcome = this.#decide(loaded, request, needs);
    }
    wanted.waiting -= 1;
    if (wanted.waiting === 0) this.#wanted.delete(accountId);
    return outcome ?? this.#ask(request);
  }

  /** Loads an account with what waiting reserves need, or adds that to what is loaded. */
  #load(accountId: string, { keyIds, scopes }: Wanted): Promise<void> {
    if ((this.#accounts.get(accountId)?.account.scopes.size ?? 0) > SCOPES_MAX) this.drop(accountId);
    const before = this.#accounts.get(accountId);
    const missing = {
      accountId,
      keyIds: [...keyIds].filter((keyId) => before?.account.keys.has(keyId) !== true),
      scopes: [...scopes].filter((scope) => before?.account.scopes.has(scope) !== true),
      isMore: before !== undefined,
    };
    keyIds.clear();
    scopes.clear();
    const load = this.#call("load", missing, LOSABLE).then(
      (snapshot) => {
        if (this.#loads.get(accountId) !== load) return;
        this.#loads.delete(accountId);
        if (snapshot === null) return this.#leave(accountId);
        if (before === undefined) this.#keep(new LoadedAccount(snapshot));
        else before.add(snapshot);
      },
      () => {
        if (this.#loads.get(accountId) === load) this.#loads.delete(accountId);
      },
    );
    this.#loads.set(accountId, load);
    return load;
  }

  #leave(accountId: string): void {
    if (this.#left.size >= ACCOUNTS_MAX) this.#left.clear();
    this.#left.set(accountId, this.#thread.clock.elapsedMs() + LEFT_MS);
  }

  #isLeft(accountId: string): boolean {
    const untilMs = this.#left.get(accountId);
    if (untilMs === undefined) return false;
    if (this.#thread.clock.elapsedMs() < untilMs) return true;
    this.#left.delete(accountId);
    return false;
  }

  #keep(loaded: LoadedAccount): void {
    this.#accounts.set(loaded.account.accountId, loaded);
    if (this.#accounts.size <= ACCOUNTS_MAX) return;
    for (const accountId of this.#accounts.keys()) return this.drop(accountId);
  }

  /** The storage thread is about to change the account beyond what is counted here. It is loaded again when it is used. */
  drop(accountId: string): void {
    this.#accounts.delete(accountId);
    this.#loads.delete(accountId);
  }

  dropAll(): void {
    this.#accounts.clear();
    this.#loads.clear();
  }

  /** Drops the accounts of these holds, which the storage thread has ended. */
  dropOf(holdIds: readonly string[]): void {
    if (holdIds.length === 0) return;
    for (const [accountId, { holds }] of this.#accounts) {
      if (holdIds.some((holdId) => holds.has(holdId))) this.drop(accountId);
    }
  }

  /** The account's time never goes back. */
  #see({ account }: LoadedAccount): void {
    account.clockMs = Math.max(account.clockMs, this.#now().nowMs);
  }

  /**
   * Call before a hold's end is sent. What it takes beyond the hold counts in the storage thread before whatever follows, and here only
   * once it is on disk, so such an end drops the account.
   */
  ending({ accountId, holdId }: HoldRef, amountNano: number, upstreamNano: number): void {
    const loaded = this.#accounts.get(accountId);
    const hold = loaded?.holds.get(holdId);
    if (loaded !== undefined) this.#see(loaded);
    if (hold === undefined && !this.#loads.has(accountId)) return;
    const charged = Math.min(amountNano, hold?.amount ?? 0);
    const isUnpaid = (window: Window) => window.counts === "unpaid" && costIn(window, charged, upstreamNano) > 0;
    if (hold === undefined || amountNano > hold.amount || hold.windows.costs.some(isUnpaid)) this.drop(accountId);
  }

  posted(request: PostRequest, outcome: PostOutcome): void {
    const loaded = this.#accounts.get(request.accountId);
    const hold = loaded?.holds.get(request.holdId);
    if (loaded === undefined || hold === undefined) return;
    if (outcome.outcome !== "posted" || outcome.repeat) return this.drop(request.accountId);
    // An end above its hold has dropped the account, so nothing is absorbed.
    const { chargedNano } = outcome;
    release(loaded, request.holdId, hold);
    this.#see(loaded);
    loaded.account.spent += chargedNano;
    for (const day of hold.days) day.spent += chargedNano;
    const { chargedNano: charged = 0, costNano: cost = 0 } = request.beside ?? {};
    countCost(loaded, hold, chargedNano + charged, request.upstreamNano + cost);
  }

  voided(accountId: string, holdId: string, { outcome }: VoidOutcome): void {
    const loaded = this.#accounts.get(accountId);
    const hold = loaded?.holds.get(holdId);
    if (loaded === undefined || hold === undefined) return;
    if (outcome !== "voided") return this.drop(accountId);
    release(loaded, holdId, hold);
  }
}

type Refusal = Exclude<ReserveOutcome, { readonly outcome: "held" }>;

function scopeOf(loaded: LoadedAccount, name: string) {
  const scope = loaded.account.scopes.get(name);
  if (scope === undefined) throw new Error(`the scope ${name} is not loaded`);
  return scope;
}

/** Does nothing if another hold has the id by now. */
function release(loaded: LoadedAccount, holdId: string, hold: LoadedHold): void {
  if (loaded.holds.get(holdId) !== hold) return;
  loaded.holds.delete(holdId);
  releaseHold(hold);
}

function countCost(loaded: LoadedAccount, { day, windows }: LoadedHold, charged: number, upstream: number): void {
  for (const window of windows.costs) {
    const sums = loaded.day(window.scope, day);
    if (sums !== null) sums.spent += Math.max(0, costIn(window, charged, upstream));
  }
}
