// An account's rules as they apply to one key: its budgets, what it may call, and whether lower tiers currently serve its calls.
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

export type ReadSums = (accountId: string, asked: readonly ScopeOfPeriod[]) => Promise<readonly PeriodSums[]>;

export type UnderRules = Pick<
  Caller,
  | ("allows" | "budgets" | "rates" | "lowBalanceNano" | "lowerings" | "isFrom" | "cacheSeconds" | "logsCalls")
  | ("carriedRun" | "runRequired" | "runRules" | "sessionBudgetNano")
>;

type BudgetOfKey = Budget & { readonly lowersAt: number | null };

const bounded = ({ nano, period, lowersAt }: Ceiling) => ({ maxNano: nano, period, lowersAt });

/** A group without a ceiling counts too: reports group spending by it. */
function groupBudget({ id, name, ceiling }: GroupRule): BudgetOfKey {
  const bound = ceiling === null ? { maxNano: null, period: "day" as const, lowersAt: null } : bounded(ceiling);
  return { scope: groupScope(id), whose: `the group ${name}`, ...bound };
}

/** The group's budget comes first: reports by group find it there in a posting. */
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

function runsOf(keyId: string, rules: AccountRules): Partial<UnderRules> {
  const own = keyRule(rules, keyId);
  const group = groupOf(rules, keyId);
  const runRules = own.runRules ?? group?.runRules;
  const sessionBudgetNano = own.sessionBudgetNano ?? group?.sessionBudgetNano;
  return {
    ...(own.run === undefined ? {} : { carriedRun: own.run }),
    ...((own.runRequired ?? group?.runRequired) ? { runRequired: true } : {}),
    ...(runRules == null ? {} : { runRules }),
    ...(sessionBudgetNano == null ? {} : { sessionBudgetNano }),
  };
}

/** Without rules nothing is read, and the caller has only its key's own lists. */
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
    ...runsOf(key.keyId, rules),
    ...(addresses === null ? {} : { isFrom: inRanges(addresses) }),
    ...(rates.length === 0 ? {} : { rates }),
    ...(budgets.length === 0 ? {} : { budgets }),
    ...(rules.logsCalls ? { logsCalls: true } : {}),
    ...(rules.lowBalanceNano === null ? {} : { lowBalanceNano: rules.lowBalanceNano }),
    ...(lowerings.length === 0 ? {} : { lowerings }),
  };
}
