// The windows of a call beyond the ledger's own limits: the budgets that apply to its caller, and its account's unpaid cost to us.
import type { Nano } from "../core/money.ts";
import type { AccountPayer, Budget, Caller } from "../core/plan.ts";
import type { CallRun } from "../core/run.ts";
import type { ReserveOutcome } from "../money/ledger/model/ledger.ts";
import { BALANCE_SCOPE, type Window } from "../money/ledger/model/window-list.ts";
import { runScope } from "../money/ledger/model/windows.ts";
import type { WindowState } from "../platform/limits/request-windows.ts";

/** The length of the window for paid calls. */
export const WINDOW_SECONDS = 60;

/** Null where the outcome carries no window. */
export function countedWindow(outcome: ReserveOutcome, limit: number): WindowState | null {
  const counted =
    outcome.outcome === "window" ? { ...outcome, remaining: 0 } : "window" in outcome ? outcome.window : null;
  if (counted == null) return null;
  const { remaining, resetSeconds } = counted;
  return { allowed: outcome.outcome !== "window", limit, remaining, resetSeconds, windowSeconds: WINDOW_SECONDS };
}

/** Per account: the excess of our cost over its charges (unpaid), and of its charges over our cost (margin). */
export const UNPAID_SCOPE = "unpaid";
export const MARGIN_SCOPE = "margin";
/** The most shared lists. Calls of a key share one, so that a store can cache each list's text. */
const LISTS_MAX = 20_000;
/** The most lists of one caller; they differ by the tags with budgets. */
const LISTS_OF_CALLER_MAX = 64;

export type UnderBudgets = Pick<Caller, "payer" | "budgets" | "lowBalanceNano" | "run">;

export interface CallWindows {
  /** The most that an account's calls may cost us unpaid in a UTC day, beyond the margin they have paid; null: no bound. */
  readonly unpaidNano: Nano | null;
  of(caller: UnderBudgets, tags: readonly string[]): readonly Window[];
  /** Only the account's unpaid cost, for work that is charged elsewhere. */
  unpaid(payer: AccountPayer): readonly Window[];
  /** The same for work admitted earlier: counted, never refused. */
  unpaidGoingOn(payer: AccountPayer): readonly Window[];
  /** For work admitted earlier: applies current budgets, but never refuses for unpaid cost. Rejects if budgets cannot be read. */
  goingOn(payer: AccountPayer, tags: readonly string[]): Promise<readonly Window[]>;
}

/** `underNow` reads the current budgets of a key's work; null: the key is gone. */
export function createWindows(
  unpaidNano: Nano | null,
  underNow: (payer: AccountPayer) => Promise<UnderBudgets | null> = async () => null,
  runOf: (payer: AccountPayer) => Promise<CallRun | null> = async () => null,
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
      const [under, run] = await Promise.all([underNow(payer), payer.runId === undefined ? null : runOf(payer)]);
      const unpaid = counted(payer);
      const budgets = under === null || isUnderNone(under) ? [] : budgetWindows(under, tags);
      const runs = run === null ? [] : runWindows(run);
      return budgets.length + runs.length === 0 ? unpaid : [...budgets, ...runs, ...unpaid];
    },
  };
}

const NONE: readonly Window[] = [];

function isUnderNone({ budgets, lowBalanceNano, run }: UnderBudgets): boolean {
  return budgets === undefined && lowBalanceNano === undefined && run === undefined;
}

/** A sandbox costs us nothing, so it has no windows. */
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

/** The lists of callers with budgets, cached as long as the caller object lives. */
function listsOfCallers(unpaid: (payer: AccountPayer) => readonly Window[]): CallWindows["of"] {
  const known = new WeakMap<UnderBudgets, Map<string, readonly Window[]>>();
  return (caller, tags) => {
    const { budgets = [], payer, run } = caller;
    const counted = tags.length === 0 ? tags : tags.filter((tag) => budgets.some((budget) => budget.tag === tag));
    const lists = known.get(caller) ?? new Map<string, readonly Window[]>();
    if (lists.size === 0) known.set(caller, lists);
    const name = counted.join("\n");
    let list = lists.get(name);
    if (list === undefined) {
      list = [...budgetWindows(caller, counted), ...(run === undefined ? [] : runWindows(run)), ...unpaid(payer)];
      if (lists.size >= LISTS_OF_CALLER_MAX) lists.clear();
      lists.set(name, list);
    }
    return list;
  };
}

const ROW = { code: "budget_exceeded", counts: "charge" } as const;
const MARKS = { ...ROW, counts: "marks" } as const;

/** The group's budget comes first: sums of groups find it there in a posting. */
function budgetWindows({ budgets = [], lowBalanceNano }: UnderBudgets, tags: readonly string[]): readonly Window[] {
  const counted = budgets.filter(({ tag }) => tag === undefined || tags.includes(tag));
  const balance: Window = { ...MARKS, scope: BALANCE_SCOPE, period: "day", max: lowBalanceNano ?? null };
  return [...counted.flatMap(windowsOf), ...(lowBalanceNano === undefined ? [] : [balance])];
}

/** The run's own window comes first: a posting belongs to the first run among its windows. */
function runWindows({ bounds }: CallRun): readonly Window[] {
  const row = { period: "run", code: "run_budget_exceeded", counts: "charge" } as const;
  return bounds.map(({ runId, maxNano }) => ({ ...row, scope: runScope(runId), max: maxNano }));
}

/** The store itself enforces a key's ceiling, so only its marks are added. */
function windowsOf({ scope, period, maxNano: max }: Budget): readonly Window[] {
  const window = { scope, period, max };
  const bound: readonly Window[] = scope.startsWith("key:") ? [] : [{ ...ROW, ...window }];
  return max === null ? bound : [...bound, { ...MARKS, ...window }];
}

function unpaidWindows(keyId: string, max: Nano | null): readonly Window[] {
  const row = { period: "day", code: "unpaid_costs" } as const;
  return [
    { ...row, scope: UNPAID_SCOPE, counts: "unpaid", max, widenedBy: MARGIN_SCOPE },
    // Per key for reporting only; the account's bound covers it.
    { ...row, scope: `${UNPAID_SCOPE}:${keyId}`, counts: "unpaid", max: null },
    { ...row, scope: MARGIN_SCOPE, counts: "margin", max: null },
  ];
}
