// All limits of an account besides its balance: ceilings of the account, its groups, keys and tags, each with its sum.
import { z } from "zod";
import type { CeilingPeriod, KeyRow } from "../../core/account-rows.ts";
import { add, centsDown, centsUp, nanoFromCents, percentOf } from "../../core/money.ts";
import type { KeyParts } from "./own-endpoint.ts";
import { isoTime } from "./rows.ts";
import { ceilingOf, ceilingRow, ceilingSchema, centsField, tagField } from "./rule-fields.ts";
import {
  ACCOUNT_SCOPE,
  type AccountRules,
  type Ceiling,
  changeRules,
  groupScope,
  keyRule,
  keyScope,
  rulesOf,
  tagScope,
} from "./rules.ts";

const TAGS_MAX = 20;
/** A call has one value per tag name, so this many tag budgets can apply to it; `WINDOWS_MAX` has room for them. */
const TAG_NAMES_MAX = 4;
/** The same as the ledger reports. */
const MARKS = [50, 80, 100];

const nameOf = (tag: string) => tag.slice(0, tag.indexOf("="));

const tagsField = z
  .array(ceilingSchema.extend({ tag: tagField }), "must be a list")
  .max(TAGS_MAX, `must have at most ${TAGS_MAX} entries`)
  .refine((all) => new Set(all.map(({ tag }) => tag)).size === all.length, "must name each tag once")
  .refine(
    (all) => new Set(all.map(({ tag }) => nameOf(tag))).size <= TAG_NAMES_MAX,
    `must be of at most ${TAG_NAMES_MAX} different names`,
  );

/** What an account's owner may change; the operator sets the account's own ceiling. */
export const ownBudgetsSchema = z.strictObject({
  tags: tagsField.optional(),
  low_balance_cents: centsField.min(1, "must be at least 1, or null").nullish(),
});
export const anyBudgetsSchema = ownBudgetsSchema.extend({ account: ceilingSchema.nullish() });

type BudgetParts = Pick<KeyParts, "books" | "rules">;

interface Bounded {
  readonly of: "account" | "group" | "key" | "tag";
  /** For a tag, the tag itself. */
  readonly id: string;
  readonly name: string;
  readonly scope: string;
  readonly ceiling: Ceiling;
}

function keyBounds({ keyId, label, ceilingNano, ceilingPeriod }: KeyRow, rules: AccountRules): Bounded[] {
  if (ceilingNano === null) return [];
  const { lowersAt } = keyRule(rules, keyId);
  const period: CeilingPeriod = ceilingPeriod ?? "day";
  return [
    { of: "key", id: keyId, name: label, scope: keyScope(keyId), ceiling: { nano: ceilingNano, period, lowersAt } },
  ];
}

async function boundsOf({ books }: BudgetParts, accountId: string, rules: AccountRules): Promise<readonly Bounded[]> {
  const keys = await books.keys(accountId);
  const own = rules.ceiling === null ? [] : [{ scope: ACCOUNT_SCOPE, ceiling: rules.ceiling }];
  return [
    ...own.map((one) => ({ of: "account" as const, id: accountId, name: "the account", ...one })),
    ...rules.groups.flatMap(({ id, name, ceiling }) =>
      ceiling === null ? [] : [{ of: "group" as const, id, name, scope: groupScope(id), ceiling }],
    ),
    ...keys.flatMap((key) => keyBounds(key, rules)),
    ...rules.tags.map(({ tag, ceiling }) => ({
      of: "tag" as const,
      id: tag,
      name: tag,
      scope: tagScope(tag),
      ceiling,
    })),
  ];
}

export async function budgetsAnswer(parts: BudgetParts, accountId: string, known?: AccountRules) {
  const rules = known ?? (await rulesOf(parts.rules, accountId));
  const bounds = await boundsOf(parts, accountId, rules);
  const asked = bounds.map(({ scope, ceiling: { period } }) => ({ scope, period }));
  const sums = asked.length === 0 ? [] : await parts.books.periodSums(accountId, asked);
  const budgets = bounds.flatMap(({ of, id, name, ceiling }, at) => {
    const sum = sums[at];
    if (sum === undefined) return [];
    const taken = add(sum.spentNano, sum.absorbedNano);
    const passed = MARKS.filter((percent) => taken >= percentOf(ceiling.nano, percent));
    return [
      {
        of,
        id,
        name,
        ...ceilingRow(ceiling),
        spent_cents: centsUp(sum.spentNano),
        held_cents: centsUp(sum.heldNano),
        absorbed_cents: centsUp(sum.absorbedNano),
        marks_passed: passed,
        lowered: ceiling.lowersAt !== null && passed.includes(ceiling.lowersAt),
        resets_at: isoTime(sum.resetsAtMs),
      },
    ];
  });
  const { lowBalanceNano } = rules;
  const low_balance_cents = lowBalanceNano === null ? null : centsDown(lowBalanceNano);
  return { status: 200, body: { budgets, low_balance_cents } };
}

export type BudgetsShown = Awaited<ReturnType<typeof budgetsAnswer>>["body"];

export async function changeBudgets(parts: BudgetParts, accountId: string, body: z.output<typeof anyBudgetsSchema>) {
  const { tags, account, low_balance_cents: low } = body;
  const after = await changeRules(parts.rules, accountId, (before) => ({
    ...before,
    ...(tags === undefined ? {} : { tags: tags.map((one) => ({ tag: one.tag, ceiling: ceilingOf(one) })) }),
    ...(account === undefined ? {} : { ceiling: account === null ? null : ceilingOf(account) }),
    ...(low === undefined ? {} : { lowBalanceNano: low === null ? null : nanoFromCents(low) }),
  }));
  return budgetsAnswer(parts, accountId, after);
}
