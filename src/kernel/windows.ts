// The windows that a call brings to the ledger beside the limits that this keeps itself: the budgets that its caller is under, and what its
// account's calls cost us unpaid.

import type { Nano } from "../core/money.ts";
import type { AccountPayer, Budget, Caller } from "../core/plan.ts";
import { BALANCE_SCOPE, type Window } from "../money/ledger/model/window-list.ts";

/** Of an account: what its calls have cost us above what was charged for them, and what they were charged above our cost. */
export const UNPAID_SCOPE = "unpaid";
export const MARGIN_SCOPE = "margin";
/** Lists that calls share, so that a store knows each by its text: one for each key that has called. */
const LISTS_MAX = 20_000;
/** Lists of one caller, which differ by the tags that have budgets. */
const LISTS_OF_CALLER_MAX = 64;

/** Under what a caller's calls are. */
export type UnderBudgets = Pick<Caller, "payer" | "budgets" | "lowBalanceNano">;

export interface CallWindows {
  /** What an account's calls may cost us unpaid in a UTC day, beside what they have paid above our cost; null: no bound. */
  readonly unpaidNano: Nano | null;
  /** Of a call that is about to begin, with what its caller has called it. */
  of(caller: UnderBudgets, tags: readonly string[]): readonly Window[];
  /** What its account's calls cost us alone: of work that is charged elsewhere. */
  unpaid(payer: AccountPayer): readonly Window[];
  /** The same of work that was let in before: counted, and never refused. */
  unpaidGoingOn(payer: AccountPayer): readonly Window[];
  /**
   * Of work that was let in before and goes on, with what its caller has called it: under its budgets as they are now, and what it costs
   * us unpaid is never refused. Rejects where the budgets cannot be read: it is not to go on without them.
   */
  goingOn(payer: AccountPayer, tags: readonly string[]): Promise<readonly Window[]>;
}

/** `underNow`: the budgets that a key's work is under at this moment, read anew; null: the key is gone. */
export function createWindows(
  unpaidNano: Nano | null,
  underNow: (payer: AccountPayer) => Promise<UnderBudgets | null> = async () => null,
): CallWindows {
  const bounded = sharedLists((keyId) => unpaidWindows(keyId, unpaidNano));
  const counted = sharedLists((keyId) => unpaidWindows(keyId, null));
  const ofCallers = listsOfCallers(bounded);
  return {
    unpaidNano,
    of: (caller, tags) => (isUnderNone(caller) ? bounded(caller.payer) : ofCallers(caller, tags)),
    unpaid: bounded,
    unpaidGoingOn: counted,
    async goingOn(payer, tags) {
      const under = await underNow(payer);
      const unpaid = counted(payer);
      return under === null || isUnderNone(under) ? unpaid : [...budgetWindows(under, tags), ...unpaid];
    },
  };
}

const NONE: readonly Window[] = [];

function isUnderNone({ budgets, lowBalanceNano }: UnderBudgets): boolean {
  return budgets === undefined && lowBalanceNano === undefined;
}

/** A sandbox costs us nothing. */
function sharedLists(make: (keyId: string) => readonly Window[]): (payer: AccountPayer) => readonly Window[] {
  const lists = new Map<string, readonly Window[]>();
  return ({ keyId, sandbox }) => {
    if (sandbox) return NONE;
    let list = lists.get(keyId);
    if (list === undefined) {
      list = make(keyId);
      if (lists.size >= LISTS_MAX) lists.clear();
      lists.set(keyId, list);
    }
    return list;
  };
}

/** Lists of callers that are under budgets, for as long as the caller is remembered. */
function listsOfCallers(unpaid: (payer: AccountPayer) => readonly Window[]): CallWindows["of"] {
  const known = new WeakMap<UnderBudgets, Map<string, readonly Window[]>>();
  return (caller, tags) => {
    const { budgets = [], payer } = caller;
    const counted = tags.length === 0 ? tags : tags.filter((tag) => budgets.some((budget) => budget.tag === tag));
    const lists = known.get(caller) ?? new Map<string, readonly Window[]>();
    if (lists.size === 0) known.set(caller, lists);
    const name = counted.join("\n");
    let list = lists.get(name);
    if (list === undefined) {
      list = [...budgetWindows(caller, counted), ...unpaid(payer)];
      if (lists.size >= LISTS_OF_CALLER_MAX) lists.clear();
      lists.set(name, list);
    }
    return list;
  };
}

const ROW = { code: "budget_exceeded", counts: "charge" } as const;
const MARKS = { ...ROW, counts: "marks" } as const;

/** The group's comes first: the sums of groups find it there in a posting. */
function budgetWindows({ budgets = [], lowBalanceNano }: UnderBudgets, tags: readonly string[]): readonly Window[] {
  const counted = budgets.filter(({ tag }) => tag === undefined || tags.includes(tag));
  const balance: Window = { ...MARKS, scope: BALANCE_SCOPE, period: "day", max: lowBalanceNano ?? null };
  return [...counted.flatMap(windowsOf), ...(lowBalanceNano === undefined ? [] : [balance])];
}

/** A key's ceiling is the store's own: only its marks are brought. */
function windowsOf({ scope, period, maxNano: max }: Budget): readonly Window[] {
  const window = { scope, period, max };
  const bound: readonly Window[] = scope.startsWith("key:") ? [] : [{ ...ROW, ...window }];
  return max === null ? bound : [...bound, { ...MARKS, ...window }];
}

function unpaidWindows(keyId: string, max: Nano | null): readonly Window[] {
  const row = { period: "day", code: "unpaid_costs" } as const;
  return [
    { ...row, scope: UNPAID_SCOPE, counts: "unpaid", max, widenedBy: MARGIN_SCOPE },
    // Whose key it was; what bounds the account bounds it too.
    { ...row, scope: `${UNPAID_SCOPE}:${keyId}`, counts: "unpaid", max: null },
    { ...row, scope: MARGIN_SCOPE, counts: "margin", max: null },
  ];
}
