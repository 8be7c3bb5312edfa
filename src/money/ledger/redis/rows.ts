// Parses the hashes of accounts and keys in Redis.
import type {
  AccountKind,
  AccountRow,
  KeyPatch,
  KeyRow,
  NewKey,
  PeriodSums,
  ScopeOfPeriod,
} from "../../../core/account-rows.ts";
import { add, type Nano, nano, ZERO } from "../../../core/money.ts";
import { ceilingAfter } from "../model/state.ts";
import { DAY_MS, dayOf, periodEnd, periodStart } from "../model/windows.ts";
import type { LedgerLink } from "./script.ts";

/** All keys of an account share one cluster slot. */
export function accountBase(accountId: string): string {
  return `{a:${accountId}}`;
}
export function accountKey(accountId: string): string {
  return `${accountBase(accountId)}:b`;
}
/** The key of a call (its hold, posting and tombstone) and of every other posting. */
export function callKey(accountId: string, id: string): string {
  return `${accountBase(accountId)}:c:${id}`;
}
export function secretKey(secretHash: string): string {
  return `kh:${secretHash}`;
}

/** Where scripts publish accounts that have changed, or whose keys have. */
export const CHANGED_CHANNEL = "tollgate:keys";
/** Where scripts publish accounts with new events. */
export const TOLD_CHANNEL = "tollgate:told";

type Fields = ReadonlyMap<string, string>;

export async function fieldsOf(link: LedgerLink, key: string): Promise<Fields> {
  const flat = (await link.call("HGETALL", key)) as unknown;
  const list = Array.isArray(flat) ? flat.map(String) : Object.entries(flat as Record<string, string>).flat();
  const fields = new Map<string, string>();
  for (let at = 0; at + 1 < list.length; at += 2) fields.set(list[at] ?? "", list[at + 1] ?? "");
  return fields;
}

/** Some fields of a hash; those that it lacks are absent. */
export async function someFields(link: LedgerLink, key: string, names: readonly string[]): Promise<Fields> {
  const values = (await link.call("HMGET", key, ...names)) as (string | null)[];
  return new Map(names.flatMap((name, at) => (values[at] == null ? [] : [[name, String(values[at])] as const])));
}

function amount(fields: Fields, name: string): Nano {
  return nano(Number(fields.get(name) ?? "0"));
}

/** Beyond 64 bytes Redis stores the hash as a table, where field lookups are three times as fast as in its list of short values. */
export const ABOUT =
  "What every call asks for and changes. This sentence is here so that Redis finds the rest of it fast.";

const ACCOUNT_FIELDS = [
  ...["name", "kind", "created", "frozen", "strict", "cap", "rpm", "in_flight"],
  ...["granted", "spent", "held", "absorbed"],
] as const;

/** An account without its day sums, which are stored beside it. */
export async function readAccount(link: LedgerLink, accountId: string): Promise<AccountRow | null> {
  return accountRow(accountId, await someFields(link, accountKey(accountId), ACCOUNT_FIELDS));
}

export function accountRow(accountId: string, fields: Fields): AccountRow | null {
  if (!fields.has("granted")) return null;
  return {
    accountId,
    name: fields.get("name") ?? "",
    kind: fields.get("kind") as AccountKind,
    createdAtMs: Number(fields.get("created")),
    frozen: fields.get("frozen") === "1",
    strictBounds: fields.get("strict") === "1",
    inferenceCapNano: amount(fields, "cap"),
    requestsPerMinute: Number(fields.get("rpm")),
    inFlightMax: Number(fields.get("in_flight")),
    grantedNano: amount(fields, "granted"),
    spentNano: amount(fields, "spent"),
    heldNano: amount(fields, "held"),
    absorbedNano: amount(fields, "absorbed"),
  };
}

/** A key's profile: everything except what admission reads from separate fields. */
export interface KeyProfile extends Omit<NewKey, "keyId" | "ceilingNano" | "ceilingPeriod"> {
  readonly primary: boolean;
}

export function profileOf(key: NewKey, primary: boolean): KeyProfile {
  const { secretHash, hint, label, externalId, services, models, expiresAtMs } = key;
  return { secretHash, hint, label, externalId, primary, services, models, expiresAtMs };
}

interface WrittenKey {
  readonly profile: string;
  readonly paused: string;
  readonly ceiling: string;
  readonly period: string;
}

/** A stored key, before its period's sums are added. */
export interface StoredKey {
  readonly profile: KeyProfile;
  /** The changeable part exactly as stored; a change succeeds only while it is still this. */
  readonly written: WrittenKey;
  readonly row: Omit<KeyRow, "periodSpentNano" | "periodHeldNano">;
}

/** Keys share their hash with their own fields and with the pointers of external ids, which callers choose. */
export function isKey(name: string, fields: Fields): boolean {
  return !name.startsWith("external:") && fields.has(`${name}:created`);
}

export function storedKey(accountId: string, keyId: string, fields: Fields): StoredKey | null {
  const text = fields.get(keyId);
  if (text === undefined || !isKey(keyId, fields)) return null;
  const profile = JSON.parse(text) as KeyProfile;
  const paused = fields.get(`${keyId}:paused`) ?? "";
  const ceiling = fields.get(`${keyId}:ceiling`) ?? "";
  const period = fields.get(`${keyId}:period`) ?? "";
  const used = fields.get(`${keyId}:used`);
  const { secretHash: _, ...shown } = profile;
  return {
    profile,
    written: { profile: text, paused, ceiling, period },
    row: {
      ...shown,
      keyId,
      accountId,
      paused: paused === "1",
      ceilingNano: ceiling === "" ? null : nano(Number(ceiling)),
      ceilingPeriod: period === "" ? null : (period as KeyRow["ceilingPeriod"]),
      createdAtMs: Number(fields.get(`${keyId}:created`)),
      lastUsedAtMs: used === undefined ? null : Number(used),
    },
  };
}

type KeyChange = KeyPatch & Partial<Pick<KeyProfile, "secretHash" | "hint">>;

export function changedKey({ profile, row }: StoredKey, patch: KeyChange): WrittenKey {
  const { paused = row.paused, ceilingNano: _nano, ceilingPeriod: _period, ...rest } = patch;
  const { ceilingNano, ceilingPeriod } = ceilingAfter(row, patch);
  return {
    profile: JSON.stringify({ ...profile, ...rest }),
    paused: paused ? "1" : "0",
    ceiling: ceilingNano === null ? "" : String(ceilingNano),
    period: ceilingPeriod ?? "",
  };
}

/** The account's time, which never goes back. */
export async function accountNow(link: LedgerLink, accountId: string, nowMs: number): Promise<number> {
  const clk = (await link.call("HGET", accountKey(accountId), "clk")) as string | null;
  return Math.max(Number(clk ?? 0), nowMs);
}

/** What each scope has spent on the account's current day. */
export async function spentToday(
  link: LedgerLink,
  accountId: string,
  scopes: readonly string[],
  nowMs: number,
): Promise<readonly Nano[]> {
  const day = dayOf(await accountNow(link, accountId, nowMs));
  const names = scopes.map((scope) => `${scope}:${day}s`);
  const fields = await someFields(link, accountKey(accountId), names);
  return names.map((name) => amount(fields, name));
}

/** Each scope's sums in the account's current period. */
export async function periodSums(
  link: LedgerLink,
  accountId: string,
  asked: readonly ScopeOfPeriod[],
  nowMs: number,
): Promise<readonly PeriodSums[]> {
  const day = dayOf(await accountNow(link, accountId, nowMs));
  return Promise.all(asked.map((one) => sumsOf(link, accountId, one, day)));
}

/** A scope's sums in the period that a day is in. */
async function sumsOf(link: LedgerLink, accountId: string, { scope, period }: ScopeOfPeriod, day: number) {
  const [first, end] = [periodStart(period, day), periodEnd(period, day)];
  const days = Array.from({ length: end - first }, (_, at) => `${scope}:${first + at}`);
  const names = days.flatMap((name) => [`${name}s`, `${name}h`, `${name}a`]);
  const fields = await someFields(link, accountKey(accountId), names);
  const sum = (what: "s" | "h" | "a") => days.reduce((total, name) => add(total, amount(fields, name + what)), ZERO);
  return { spentNano: sum("s"), heldNano: sum("h"), absorbedNano: sum("a"), resetsAtMs: end * DAY_MS };
}

export function keyIdsOf(fields: Fields): string[] {
  return [...fields.keys()].filter((name) => isKey(name, fields));
}

/** Adds what a key has spent and holds in its current period. */
export async function withPeriodSums(link: LedgerLink, key: StoredKey, nowMs: number): Promise<KeyRow> {
  const { row } = key;
  const period = row.ceilingNano === null ? "day" : (row.ceilingPeriod ?? "day");
  const sums = await sumsOf(link, row.accountId, { scope: `key:${row.keyId}`, period }, dayOf(nowMs));
  return { ...row, periodSpentNano: sums.spentNano, periodHeldNano: sums.heldNano };
}
