// The windows that a call brings to the ledger beside the limits that this keeps itself: what its account's calls cost us unpaid. A new
// budget (of a group, of a tag) is one more row here.
import type { Window } from "../ledger/model/window-list.ts";
import type { Nano } from "../money.ts";
import type { AccountPayer } from "../plan.ts";

/** Of an account: what its calls have cost us above what was charged for them, and what they were charged above our cost. */
export const UNPAID_SCOPE = "unpaid";
export const MARGIN_SCOPE = "margin";
/** Lists that calls share, so that a store knows each by its text: one for each key that has called. */
const LISTS_MAX = 20_000;

export interface CallWindows {
  /** What an account's calls may cost us unpaid in a UTC day, beside what they have paid above our cost; null: no bound. */
  readonly unpaidNano: Nano | null;
  /** Of a call that is about to begin. */
  of(payer: AccountPayer): readonly Window[];
  /** Of work that was let in before and goes on: counted, and never refused. */
  goingOn(payer: AccountPayer): readonly Window[];
}

export function createWindows(unpaidNano: Nano | null): CallWindows {
  const bounded = sharedLists((keyId) => unpaidWindows(keyId, unpaidNano));
  const counted = sharedLists((keyId) => unpaidWindows(keyId, null));
  return { unpaidNano, of: bounded, goingOn: counted };
}

const NONE: readonly Window[] = [];

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

function unpaidWindows(keyId: string, max: Nano | null): readonly Window[] {
  const row = { period: "day", code: "unpaid_costs" } as const;
  return [
    { ...row, scope: UNPAID_SCOPE, counts: "unpaid", max, widenedBy: MARGIN_SCOPE },
    // Whose key it was; what bounds the account bounds it too.
    { ...row, scope: `${UNPAID_SCOPE}:${keyId}`, counts: "unpaid", max: null },
    { ...row, scope: MARGIN_SCOPE, counts: "margin", max: null },
  ];
}
