// An account as the storage thread sends it to the process that decides about its holds (admissions.ts): what bounds a hold, no more.
import {
  type AccountState,
  type CountedHold,
  type DayState,
  dayIn,
  INFERENCE_SCOPE,
  type KeyState,
  keyScope,
  type LiveHold,
  storedScope,
} from "../model/state.ts";
import { type WindowList, windowList } from "../model/window-list.ts";
import { countingDay, dayOf } from "../model/windows.ts";
import type { LedgerState } from "./state.ts";

/** Keys and scopes that are to be sent. `isMore`: the account is loaded, so only holds that count in these scopes matter. */
export interface SnapshotRequest {
  readonly accountId: string;
  readonly keyIds: readonly string[];
  readonly scopes: readonly string[];
  readonly isMore: boolean;
}

/** A snapshot names the account's holds. With more, it would cost more than the messages that it saves. */
const HOLDS_MAX = 256;

type Sums = Omit<DayState, "of">;
type Placed = Pick<LiveHold, "holdId" | "keyId" | "amount" | "day" | "inference" | "slots">;

export interface Snapshot {
  readonly account: Omit<AccountState, "keys" | "holds" | "scopes" | "slots">;
  readonly keys: readonly KeyState[];
  readonly slots: readonly (readonly [scope: string, taken: number])[];
  readonly scopes: readonly (readonly [scope: string, days: readonly Sums[]])[];
  readonly holds: readonly (Placed & { readonly windows: string })[];
}

/** A hold in the process that decides. */
export interface LoadedHold extends CountedHold {
  readonly holdId: string;
  readonly day: number;
  readonly windows: WindowList;
  readonly days: DayState[];
}

/** The scopes that count a hold's money. */
export function moneyScopes({ keyId, inference }: Pick<LiveHold, "keyId" | "inference">, windows: WindowList) {
  return [keyScope(keyId), ...(inference ? [INFERENCE_SCOPE] : []), ...windows.charged.map(({ scope }) => scope)];
}

function countsIn(hold: LiveHold, names: readonly string[]): boolean {
  return moneyScopes(hold, hold.windows).some((name) => names.includes(name));
}

/** Returns null if the account does not exist or has too many holds. */
export function snapshotOf(
  state: LedgerState,
  { accountId, keyIds, scopes: names, isMore }: SnapshotRequest,
): Snapshot | null {
  const found = state.accounts.account(accountId);
  if (found === null || (!isMore && found.holds.size > HOLDS_MAX)) return null;
  const { keys, holds, scopes: _, slots, ...account } = found;
  const day = dayOf(state.accountNow(found));
  const plain = ({ holdId, keyId, amount, day, inference, slots, windows }: LiveHold) => {
    return { holdId, keyId, amount, day, inference, slots, windows: windows.text };
  };
  return {
    account,
    keys: keyIds.map((keyId) => keys.get(keyId)).filter((key) => key !== undefined),
    slots: [...slots],
    scopes: names.map((name) => {
      const { days } = state.accounts.scope(found, name, day);
      return [name, [...days.values()].map(({ of: _of, ...sums }) => sums)];
    }),
    holds: [...holds].filter((hold) => !isMore || countsIn(hold, names)).map(plain),
  };
}

/** An account in the memory of the process that decides about its holds. */
export class LoadedAccount {
  readonly account: AccountState;
  readonly holds = new Map<string, LoadedHold>();
  /** Holds that the storage thread is deciding on, and the day on which they count here. */
  asked = 0;
  askedOn = 0;

  constructor(snapshot: Snapshot) {
    const { account, slots, holds } = snapshot;
    this.account = { ...account, keys: new Map(), holds: new Set(), slots: new Map(slots), scopes: new Map() };
    for (const { holdId, amount, day, slots: taken, windows: text } of holds) {
      const windows = windowList(text);
      this.holds.set(holdId, { account: this.account, holdId, amount, day, windows, days: [], slots: taken });
    }
    this.add(snapshot);
  }

  /**
   * Adds keys and scopes. What was decided since the snapshot counts in none of these scopes, as a decision needs them loaded; ends that
   * the snapshot has are of holds that it does not name.
   */
  add({ account: { accountId }, keys, scopes, holds }: Snapshot): void {
    for (const key of keys) this.account.keys.set(key.keyId, key);
    for (const [name, sums] of scopes) {
      const scope = { name: storedScope(accountId, name), days: new Map(), loadedFrom: 0, lastPosting: undefined };
      for (const one of sums) scope.days.set(one.day, { ...one, of: scope });
      this.account.scopes.set(name, scope);
    }
    const added = new Set(scopes.map(([name]) => name));
    for (const { holdId, day, ...placed } of holds) {
      const hold = this.holds.get(holdId);
      if (hold === undefined) continue;
      for (const name of moneyScopes(placed, hold.windows)) {
        const sums = added.has(name) ? this.account.scopes.get(name)?.days.get(countingDay(name, day)) : undefined;
        if (sums !== undefined) hold.days.push(sums);
      }
    }
  }

  /** The scope's sums on a day; null: the scope is not loaded. */
  day(name: string, onDay: number): DayState | null {
    const of = this.account.scopes.get(name);
    return of === undefined ? null : dayIn(of, countingDay(name, onDay));
  }
}
