// Groups of an account's keys, such as teams or projects: the same rules for the account's primary key and for the operator.
import type { Answer } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { centsUp, ZERO } from "../../core/money.ts";
import { type KeyParts, missing, type Owner } from "./own-endpoint.ts";
import { isoTime } from "./rows.ts";
import { type GroupChange, groupAfter, groupRow } from "./rule-fields.ts";
import { type AccountRules, changeRules, GROUPS_MAX, type GroupRule, groupScope, rulesOf } from "./rules.ts";
import { mintId } from "./secrets.ts";

export function noSuchGroup(groupId: string): GatewayError {
  return missing("group", `There is no group ${groupId.slice(0, 80)} here.`);
}

function keysIn({ keys }: AccountRules, groupId: string): string[] {
  return Object.keys(keys).filter((keyId) => keys[keyId]?.group === groupId);
}

/** Each group with its sums of the current period (of the current day where it has no ceiling). */
async function shownGroups({ books }: KeyParts, accountId: string, rules: AccountRules, groups: readonly GroupRule[]) {
  const asked = groups.map(({ id, ceiling }) => ({ scope: groupScope(id), period: ceiling?.period ?? "day" }));
  const sums = asked.length === 0 ? [] : await books.periodSums(accountId, asked);
  return groups.map((group, at) => {
    const { spentNano = ZERO, heldNano = ZERO, absorbedNano = ZERO, resetsAtMs = 0 } = sums[at] ?? {};
    return {
      ...groupRow(group),
      spent_cents: centsUp(spentNano),
      held_cents: centsUp(heldNano),
      absorbed_cents: centsUp(absorbedNano),
      resets_at: isoTime(resetsAtMs),
      keys: keysIn(rules, group.id),
    };
  });
}

async function shown(parts: KeyParts, accountId: string, rules: AccountRules, groupId: string) {
  const group = rules.groups.find(({ id }) => id === groupId);
  if (group === undefined) throw noSuchGroup(groupId);
  const [row] = await shownGroups(parts, accountId, rules, [group]);
  return { status: 200, body: row };
}

export async function listGroups(parts: KeyParts, accountId: string) {
  const rules = await rulesOf(parts.rules, accountId);
  return shownGroups(parts, accountId, rules, rules.groups);
}

export type GroupShown = Awaited<ReturnType<typeof listGroups>>[number];

export async function showGroup(parts: KeyParts, accountId: string, groupId: string): Promise<Answer> {
  return shown(parts, accountId, await rulesOf(parts.rules, accountId), groupId);
}

const NEW = { ceiling: null, services: null, models: null, requestsPerMinute: null, tokensPerMinute: null } as const;

function tooManyGroups(): GatewayError {
  return new GatewayError("conflict", {
    detail: `This account has ${GROUPS_MAX} groups, and no account can have more.`,
  });
}

function checkName(rules: AccountRules, { name, id }: GroupRule): void {
  if (!rules.groups.some((group) => group.name === name && group.id !== id)) return;
  const detail = `name: another group of this account is called ${JSON.stringify(name)}.`;
  throw new GatewayError("conflict", { detail, param: "name" });
}

export async function createGroup(
  parts: KeyParts,
  { accountId, sandbox }: Owner,
  body: GroupChange & { readonly name: string },
): Promise<Answer> {
  const id = mintId("grp_");
  const made = { ...NEW, id, name: body.name, createdAtMs: Math.floor(parts.clock.epochMs()) };
  const after = await changeRules(parts.rules, accountId, (before) => {
    if (before.groups.length >= GROUPS_MAX) throw tooManyGroups();
    const group = groupAfter(made, body, { unsold: parts.unsold, sandbox });
    checkName(before, group);
    return { ...before, groups: [...before.groups, group] };
  });
  return { ...(await shown(parts, accountId, after, id)), status: 201 };
}

export async function changeGroup(
  parts: KeyParts,
  { accountId, sandbox, groupId }: Owner & { readonly groupId: string },
  body: GroupChange,
): Promise<Answer> {
  const after = await changeRules(parts.rules, accountId, (before) => {
    const group = before.groups.find(({ id }) => id === groupId);
    if (group === undefined) throw noSuchGroup(groupId);
    const changed = groupAfter(group, body, { unsold: parts.unsold, sandbox });
    checkName(before, changed);
    return { ...before, groups: before.groups.map((one) => (one.id === groupId ? changed : one)) };
  });
  return shown(parts, accountId, after, groupId);
}

/** Removes its keys from the group. Running calls stay in the budget in which they started. */
export async function deleteGroup(parts: KeyParts, accountId: string, groupId: string): Promise<Answer> {
  let freed: readonly string[] = [];
  await changeRules(parts.rules, accountId, (before) => {
    if (!before.groups.some(({ id }) => id === groupId)) throw noSuchGroup(groupId);
    freed = keysIn(before, groupId);
    const keys = Object.entries(before.keys).map(([id, rule]) => [
      id,
      rule.group === groupId ? { ...rule, group: null } : rule,
    ]);
    const groups = before.groups.filter(({ id }) => id !== groupId);
    return { ...before, groups, keys: Object.fromEntries(keys) as AccountRules["keys"] };
  });
  return { status: 200, body: { id: groupId, deleted: true, keys: freed } };
}
