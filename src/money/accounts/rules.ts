// What an account's owner and the operator have ruled for its calls beside the limits that the ledger keeps: groups of keys, budgets, rates,
// addresses. One record for each account, so that all of it changes at once.
import { hash } from "node:crypto";
import type { CeilingPeriod } from "../../core/account-rows.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Nano } from "../../core/money.ts";

/** The kind of the record. A store that is shared tells all processes of each put of it. */
export const RULES_KIND = "rules";
export const GROUPS_MAX = 100;
/** Of revoked keys, so many are remembered with their group. */
const LEFT_MAX = 1_000;
/** Of those who change an account's rules at the same time one gets on with each try, so this many can. */
const TRIES_MAX = 100;

/** A bound on what calls may come to in a period, and from which percent of it on they are served by a lower tier; null: never. */
export interface Ceiling {
  readonly nano: Nano;
  readonly period: CeilingPeriod;
  readonly lowersAt: number | null;
}

/** How much may be asked for in a minute; null: as the account allows. */
export interface Rates {
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
}

export interface GroupRule extends Rates {
  readonly id: string;
  readonly name: string;
  readonly createdAtMs: number;
  readonly ceiling: Ceiling | null;
  /** As of a key: null is everything. A key of the group may call what both allow. */
  readonly services: readonly string[] | null;
  readonly models: readonly string[] | null;
}

/** What is ruled of a key. Its ceiling, its lists and its expiry are the ledger's. */
export interface KeyRule extends Rates {
  readonly group: string | null;
  /** From which percent of its ceiling on its calls are served by a lower tier. */
  readonly lowersAt: number | null;
  /** For how long its answers are kept for the same question; null: not at all, unless a request says so. */
  readonly cacheSeconds: number | null;
  /** Addresses and ranges that it may be used from; null: all. */
  readonly addresses: readonly string[] | null;
  /** The secret before the last rotation, by its hash, and until when it is good beside the new one; null: none is. */
  readonly former: { readonly hash: string; readonly untilMs: number } | null;
}

export interface TagRule {
  readonly tag: string;
  readonly ceiling: Ceiling;
}

/** A key of the account's own at a provider, as it is kept. */
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
  /** What the account owns is told when it falls below this. */
  readonly lowBalanceNano: Nano | null;
  readonly groups: readonly GroupRule[];
  /** By their ids; a key of which nothing is ruled is not here. */
  readonly keys: Readonly<Record<string, KeyRule>>;
  /** By provider. */
  readonly providerKeys: Readonly<Record<string, KeptProviderKey>>;
  /** In which group each key was when it was revoked, for sums by group; of the latest ones. */
  readonly left: Readonly<Record<string, string>>;
  /** Bodies and answers of its calls are kept for the operator. */
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

/** What rules need of the records, which all processes share. The records themselves fit this shape and are handed in. */
export interface RuleRecords {
  get(kind: string, id: string): Promise<{ readonly version: number; readonly value: string } | null>;
  /** Null: the stored version is another than `ifVersion`. */
  put(record: {
    readonly kind: string;
    readonly id: string;
    readonly payer: string;
    readonly value: string;
    readonly ttlMs: number | null;
    readonly ifVersion: number;
  }): Promise<number | null>;
}

export async function rulesOf(records: Pick<RuleRecords, "get">, accountId: string): Promise<AccountRules> {
  return readRules((await records.get(RULES_KIND, accountId))?.value);
}

/** What an older release has kept says nothing of what is newer. */
function readRules(value: string | undefined): AccountRules {
  return value === undefined ? NO_RULES : { ...NO_RULES, ...(JSON.parse(value) as Partial<AccountRules>) };
}

/** Changes an account's rules, and returns the new ones. Rejects where `change` throws. */
export async function changeRules(
  records: RuleRecords,
  accountId: string,
  change: (before: AccountRules) => AccountRules,
): Promise<AccountRules> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const kept = await records.get(RULES_KIND, accountId);
    const before = readRules(kept?.value);
    const after = change(before);
    if (after === before) return after;
    const record = { kind: RULES_KIND, id: accountId, payer: `acct:${accountId}`, ttlMs: null };
    const put = { ...record, value: JSON.stringify(after), ifVersion: kept?.version ?? 0 };
    if ((await records.put(put)) !== null) return after;
  }
  throw new GatewayError("ledger_unavailable", { retryAfterSeconds: 1 });
}

export function keyRule(rules: AccountRules, keyId: string): KeyRule {
  return { ...NO_KEY_RULE, ...rules.keys[keyId] };
}

/** The group that a key is in; null: in none. */
export function groupOf(rules: AccountRules, keyId: string): GroupRule | null {
  const { group } = keyRule(rules, keyId);
  return group === null ? null : (rules.groups.find(({ id }) => id === group) ?? null);
}

/** The rules with what is ruled of one key changed. */
export function withKeyRule(rules: AccountRules, keyId: string, patch: Partial<KeyRule>): AccountRules {
  return { ...rules, keys: { ...rules.keys, [keyId]: { ...keyRule(rules, keyId), ...patch } } };
}

/** The rules without a key that is gone. */
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

/** As the ledger counts them. A tag may be of any characters, and a scope may not. */
export const ACCOUNT_SCOPE = "account";
export const groupScope = (groupId: string) => `group:${groupId}`;
export const tagScope = (tag: string) => `tag:${hash("sha256", tag).slice(0, 32)}`;
export const keyScope = (keyId: string) => `key:${keyId}`;
