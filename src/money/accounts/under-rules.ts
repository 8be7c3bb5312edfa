// What an account's rules come to for one key: its budgets, what it may call, and whether its calls are served by lower tiers for now.
import type { AccountRow, KeyRow, PeriodSums, ScopeOfPeriod } from "../../core/account-rows.ts";
import { add, percentOf } from "../../core/money.ts";
import type { Allowed, Budget, Caller, Lowering, Rate } from "../../core/plan.ts";
import { inRanges } from "./addresses.ts";
import { bothAllow } from "./allowed.ts";
import {
  ACCOUNT_SCOPE,
  type AccountRules,
  type Ceiling,
  type GroupRule,
  groupOf,
  groupScope,
  keyRule,
  keyScope,
  tagScope,
} from "./rules.ts";

/** What each scope of an account has come to in the period that runs now. */
export type ReadSums = (accountId: string, asked: readonly ScopeOfPeriod[]) => Promise<readonly PeriodSums[]>;

export type UnderRules = Pick<
  Caller,
  "allows" | "budgets" | "rates" | "lowBalanceNano" | "lowerings" | "isFrom" | "cacheSeconds" | "logsCalls"
>;

type BudgetOfKey = Budget & { readonly lowersAt: number | null };

const bounded = ({ nano, period, lowersAt }: Ceiling) => ({ maxNano: nano, period, lowersAt });

/** A group without a ceiling counts all the same: who spent what is told by groups. */
function groupBudget({ id, name, ceiling }: GroupRule): BudgetOfKey {
  const bound = ceiling === null ? { maxNano: null, period: "day" as const, lowersAt: null } : bounded(ceiling);
  return { scope: groupScope(id), whose: `the group ${name}`, ...bound };
}

/** The group's comes first: in a posting the sums of groups find it there. */
function budgetsOf(key: KeyRow, rules: AccountRules): readonly BudgetOfKey[] {
  const group = groupOf(rules, key.keyId);
  const { ceilingNano, ceilingPeriod, keyId } = key;
  const ofKey =
    ceilingNano === null
      ? []
      : [
          {
            scope: keyScope(keyId),
            whose: "the key",
            maxNano: ceilingNano,
            period: ceilingPeriod ?? "day",
            lowersAt: keyRule(rules, keyId).lowersAt,
          } as const,
        ];
  return [
    ...(group === null ? [] : [groupBudget(group)]),
    ...(rules.ceiling === null ? [] : [{ scope: ACCOUNT_SCOPE, whose: "the account", ...bounded(rules.ceiling) }]),
    ...ofKey,
    ...rules.tags.map(({ tag, ceiling }) => ({
      scope: tagScope(tag),
      whose: `the tag ${tag}`,
      tag,
      ...bounded(ceiling),
    })),
  ];
}

function ratesOf(keyId: string, rules: AccountRules): readonly Rate[] {
  const group = groupOf(rules, keyId);
  const all = [
    { scope: keyScope(keyId), rule: keyRule(rules, keyId) },
    ...(group === null ? [] : [{ scope: groupScope(group.id), rule: group }]),
  ];
  return all
    .map(({ scope, rule: { requestsPerMinute, tokensPerMinute } }) => ({ scope, requestsPerMinute, tokensPerMinute }))
    .filter(({ requestsPerMinute, tokensPerMinute }) => requestsPerMinute !== null || tokensPerMinute !== null);
}

async function loweringsOf(account: string, budgets: readonly BudgetOfKey[], sums: ReadSums): Promise<Lowering[]> {
  const lowering = budgets.filter(({ lowersAt }) => lowersAt !== null);
  const found = await sums(account, lowering);
  return lowering.flatMap(({ maxNano, lowersAt, tag }, at) => {
    const sum = found[at];
    if (sum === undefined || maxNano === null || lowersAt === null) return [];
    const isThere = add(sum.spentNano, sum.absorbedNano) >= percentOf(maxNano, lowersAt);
    return isThere ? [{ untilMs: sum.resetsAtMs, ...(tag === undefined ? {} : { tag }) }] : [];
  });
}

/** Where nothing is ruled, nothing is read and the caller has nothing more than its key's own lists. */
export async function underRules(
  key: KeyRow,
  { accountId }: Pick<AccountRow, "accountId">,
  rules: AccountRules,
  sums: ReadSums,
): Promise<UnderRules> {
  const group = groupOf(rules, key.keyId);
  const own: Allowed = { services: key.services, models: key.models };
  const allows = group === null ? own : bothAllow(own, group);
  const budgets = budgetsOf(key, rules);
  const lowerings = budgets.some(({ lowersAt }) => lowersAt !== null)
    ? await loweringsOf(accountId, budgets, sums)
    : [];
  const rates = ratesOf(key.keyId, rules);
  const { addresses, cacheSeconds } = keyRule(rules, key.keyId);
  return {
    allows,
    ...(cacheSeconds === null ? {} : { cacheSeconds }),
    ...(addresses === null ? {} : { isFrom: inRanges(addresses) }),
    ...(rates.length === 0 ? {} : { rates }),
    ...(budgets.length === 0 ? {} : { budgets }),
    ...(rules.logsCalls ? { logsCalls: true } : {}),
    ...(rules.lowBalanceNano === null ? {} : { lowBalanceNano: rules.lowBalanceNano }),
    ...(lowerings.length === 0 ? {} : { lowerings }),
  };
}
