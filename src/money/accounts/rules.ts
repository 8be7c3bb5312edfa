// An account's rules besides the ledger's limits: groups, budgets, rates, addresses. One record, so that a change is atomic.
import { hash } from "node:crypto";
import type { CeilingPeriod } from "../../core/account-rows.ts";
import type { Nano } from "../../core/money.ts";
import type { RunRules } from "../../core/run.ts";
import type { Records } from "../../platform/records/records.ts";
import { revise } from "../../platform/records/revise.ts";

/** The kind of the record. A shared store announces each change of it to all processes. */
export const RULES_KIND = "rules";
export const GROUPS_MAX = 100;
/** How many revoked keys are stored with their group. */
const LEFT_MAX = 1_000;

/** The most that calls may spend in a period, and the percentage from which a lower tier serves them; null: never. */
export interface Ceiling {
  readonly nano: Nano;
  readonly period: CeilingPeriod;
  readonly lowersAt: number | null;
}

/** The rates per minute; null: the account's. */
export interface Rates {
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
}

/** The rules for runs of a key, or of a group's keys. A key's own rules win. */
export interface RuleOfRuns {
  /** For runs that it opens; null: none. */
  readonly runRules: RunRules | null;
  /** Its calls must be part of a run; null: as its group says. */
  readonly runRequired: boolean | null;
  /** The budget of each session that its calls name; null: sessions do not become runs. */
  readonly sessionBudgetNano: Nano | null;
}

export interface GroupRule extends Rates, Partial<RuleOfRuns> {
  readonly id: string;
  readonly name: string;
  readonly createdAtMs: number;
  readonly ceiling: Ceiling | null;
  /** As for a key: null allows everything. A key of the group may call what both allow. */
  readonly services: readonly string[] | null;
  readonly models: readonly string[] | null;
}

/** The rules of a key. The ledger has its ceiling, its lists and its expiry. */
export interface KeyRule extends Rates, Partial<RuleOfRuns> {
  /** The run that it was made for, which all its calls are part of; absent: none. */
  readonly run?: string;
  readonly group: string | null;
  /** The percentage of its ceiling from which a lower tier serves its calls. */
  readonly lowersAt: number | null;
  /** How long its answers are cached; null: only where a request asks for it. */
  readonly cacheSeconds: number | null;
  /** Addresses and ranges from which it may be used; null: all. */
  readonly addresses: readonly string[] | null;
  /** The hash of the secret before the last rotation, and its expiry; null: none is valid. */
  readonly former: { readonly hash: string; readonly untilMs: number } | null;
}

export interface TagRule {
  readonly tag: string;
  readonly ceiling: Ceiling;
}

export interface KeptProviderKey {
  readonly sealed: string;
  /** Its last characters. */
  readonly hint: string;
  readonly fallback: boolean;
  readonly createdAtMs: number;
}

export interface AccountRules {
  readonly ceiling: Ceiling | null;
  readonly tags: readonly TagRule[];
  /** A balance below this triggers an alert. */
  readonly lowBalanceNano: Nano | null;
  readonly groups: readonly GroupRule[];
  /** By key id; keys without rules are absent. */
  readonly keys: Readonly<Record<string, KeyRule>>;
  readonly providerKeys: Readonly<Record<string, KeptProviderKey>>;
  /** The group of each revoked key, for sums by group; the latest ones only. */
  readonly left: Readonly<Record<string, string>>;
  /** Bodies and answers of its calls are stored for the operator. */
  readonly logsCalls: boolean;
}

export const NO_RULES: AccountRules = {
  ceiling: null,
  tags: [],
  lowBalanceNano: null,
  groups: [],
  keys: {},
  providerKeys: {},
  left: {},
  logsCalls: false,
};
export const NO_KEY_RULE: KeyRule = {
  group: null,
  lowersAt: null,
  requestsPerMinute: null,
  tokensPerMinute: null,
  addresses: null,
  cacheSeconds: null,
  former: null,
};

export type RuleRecords = Pick<Records, "get" | "put">;

export async function rulesOf(records: Pick<RuleRecords, "get">, accountId: string): Promise<AccountRules> {
  return readRules((await records.get(RULES_KIND, accountId))?.value ?? null);
}

/** Records of an older release lack newer fields. */
function readRules(value: string | null): AccountRules {
  return value === null ? NO_RULES : { ...NO_RULES, ...(JSON.parse(value) as Partial<AccountRules>) };
}

/** Changes an account's rules, and returns the new ones. Rejects where `change` throws. */
export async function changeRules(
  records: RuleRecords,
  accountId: string,
  change: (before: AccountRules) => AccountRules,
): Promise<AccountRules> {
  let after = NO_RULES;
  await revise(records, { kind: RULES_KIND, id: accountId, payer: `acct:${accountId}`, ttlMs: null }, (value) => {
    const before = readRules(value);
    after = change(before);
    return after === before ? null : JSON.stringify(after);
  });
  return after;
}

export function keyRule(rules: AccountRules, keyId: string): KeyRule {
  return { ...NO_KEY_RULE, ...rules.keys[keyId] };
}

/** The group that a key is in; null: in none. */
export function groupOf(rules: AccountRules, keyId: string): GroupRule | null {
  const { group } = keyRule(rules, keyId);
  return group === null ? null : (rules.groups.find(({ id }) => id === group) ?? null);
}

export function withKeyRule(rules: AccountRules, keyId: string, patch: Partial<KeyRule>): AccountRules {
  return { ...rules, keys: { ...rules.keys, [keyId]: { ...keyRule(rules, keyId), ...patch } } };
}

export function withoutKey(rules: AccountRules, keyId: string): AccountRules {
  if (rules.keys[keyId] === undefined) return rules;
  const { [keyId]: gone, ...keys } = rules.keys;
  if (gone?.group == null) return { ...rules, keys };
  const left = [...Object.entries(rules.left), [keyId, gone.group] as const].slice(-LEFT_MAX);
  return { ...rules, keys, left: Object.fromEntries(left) };
}

/** The group of each key that is in one, or was when it was revoked. */
export function groupsByKey({ keys, left, groups }: AccountRules): Readonly<Record<string, string>> {
  const now = Object.entries(keys).flatMap(([id, { group }]) => (group === null ? [] : [[id, group] as const]));
  const known = new Set(groups.map(({ id }) => id));
  return Object.fromEntries([...Object.entries(left), ...now].filter(([, group]) => known.has(group)));
}

/** Scopes as named in the ledger. A tag may have any characters, a scope may not. */
export const ACCOUNT_SCOPE = "account";
export const groupScope = (groupId: string) => `group:${groupId}`;
export const tagScope = (tag: string) => `tag:${hash("sha256", tag).slice(0, 32)}`;
export const keyScope = (keyId: string) => `key:${keyId}`;
