// Reads what the ledger keeps in Redis: accounts, keys and postings, from hashes to rows.
import { hash } from "node:crypto";
import type {
  AccountKind,
  AccountRow,
  KeyPatch,
  KeyRow,
  NewKey,
  PostingPage,
  PostingQuery,
  PostingRow,
} from "../account-rows.ts";
import { type Nano, nano } from "../money.ts";
import type { TokenUsage } from "../plan.ts";
import { type Archive, type NumberedPosting, shownPosting } from "./archive.ts";
import type { LedgerLink } from "./redis-script.ts";
import { dayOf, periodEnd, periodStart } from "./windows.ts";

/** Everything of an account lies in one slot of a cluster. */
export function accountBase(accountId: string): string {
  return `{a:${accountId}}`;
}
export function accountKey(accountId: string): string {
  return `${accountBase(accountId)}:b`;
}
export function secretKey(secretHash: string): string {
  return `kh:${secretHash}`;
}

type Fields = ReadonlyMap<string, string>;

export async function fieldsOf(link: LedgerLink, key: string): Promise<Fields> {
  const flat = (await link.call("HGETALL", key)) as unknown;
  const list = Array.isArray(flat) ? flat.map(String) : Object.entries(flat as Record<string, string>).flat();
  const fields = new Map<string, string>();
  for (let at = 0; at + 1 < list.length; at += 2) fields.set(list[at] ?? "", list[at + 1] ?? "");
  return fields;
}

function amount(fields: Fields, name: string): Nano {
  return nano(Number(fields.get(name) ?? "0"));
}

export function accountRow(accountId: string, fields: Fields): AccountRow | null {
  if (!fields.has("granted")) return null;
  return {
    accountId,
    name: fields.get("name") ?? "",
    kind: fields.get("kind") as AccountKind,
    createdAtMs: Number(fields.get("created")),
    frozen: fields.get("frozen") === "1",
    inferenceCapNano: amount(fields, "cap"),
    requestsPerMinute: Number(fields.get("rpm")),
    inFlightMax: Number(fields.get("in_flight")),
    grantedNano: amount(fields, "granted"),
    spentNano: amount(fields, "spent"),
    heldNano: amount(fields, "held"),
    absorbedNano: amount(fields, "absorbed"),
  };
}

/** What stands in a key's profile: all of it but what admission reads from fields of its own. */
export interface KeyProfile {
  readonly secretHash: string;
  readonly hint: string;
  readonly label: string;
  readonly externalId: string | null;
  readonly primary: boolean;
  readonly services: readonly string[] | null;
  readonly models: readonly string[] | null;
  readonly expiresAtMs: number | null;
}

export function profileOf(key: NewKey, primary: boolean): KeyProfile {
  const { secretHash, hint, label, externalId, services, models, expiresAtMs } = key;
  return { secretHash, hint, label, externalId, primary, services, models, expiresAtMs };
}

/** A key as it is kept, before its period's sums are added. */
export interface StoredKey {
  readonly profile: KeyProfile;
  /** The profile's text: a change is made only where it is still this. */
  readonly text: string;
  readonly row: Omit<KeyRow, "periodSpentNano" | "periodHeldNano">;
}

export function storedKey(accountId: string, keyId: string, fields: Fields): StoredKey | null {
  const text = fields.get(keyId);
  if (text === undefined) return null;
  const profile = JSON.parse(text) as KeyProfile;
  const ceiling = fields.get(`${keyId}:ceiling`) ?? "";
  const period = fields.get(`${keyId}:period`) ?? "";
  const used = fields.get(`${keyId}:used`);
  const { secretHash: _, ...shown } = profile;
  return {
    profile,
    text,
    row: {
      ...shown,
      keyId,
      accountId,
      paused: fields.get(`${keyId}:paused`) === "1",
      ceilingNano: ceiling === "" ? null : nano(Number(ceiling)),
      ceilingPeriod: period === "" ? null : (period as KeyRow["ceilingPeriod"]),
      createdAtMs: Number(fields.get(`${keyId}:created`)),
      lastUsedAtMs: used === undefined ? null : Number(used),
    },
  };
}

/** The fields of a key that admission reads, after a change. */
export function changedKey(key: StoredKey, patch: KeyPatch & Partial<Pick<KeyProfile, "secretHash" | "hint">>) {
  const {
    paused = key.row.paused,
    ceilingNano = key.row.ceilingNano,
    ceilingPeriod = key.row.ceilingPeriod,
    ...rest
  } = patch;
  const profile = { ...key.profile, ...rest };
  return {
    profile: JSON.stringify(profile),
    paused: paused ? "1" : "0",
    ceiling: ceilingNano === null ? "" : String(ceilingNano),
    period: ceilingPeriod ?? "",
  };
}

/** All ids of keys among the fields of an account's keys. */
export function keyIdsOf(fields: Fields): string[] {
  return [...fields.keys()].filter((name) => fields.has(`${name}:created`));
}

/** What a key has spent and holds in the period that runs now. */
export async function withPeriodSums(link: LedgerLink, key: StoredKey, nowMs: number): Promise<KeyRow> {
  const { row } = key;
  const period = row.ceilingNano === null ? "day" : (row.ceilingPeriod ?? "day");
  const today = dayOf(nowMs);
  const days = Array.from(
    { length: periodEnd(period, today) - periodStart(period, today) },
    (_, at) => `key:${row.keyId}:${periodStart(period, today) + at}`,
  );
  const names = days.flatMap((day) => [`${day}s`, `${day}h`]);
  const values = (await link.call("HMGET", `${accountBase(row.accountId)}:d`, ...names)) as (string | null)[];
  const sum = (parity: number) =>
    values.reduce((total, value, at) => total + (at % 2 === parity ? Number(value ?? 0) : 0), 0);
  return { ...row, periodSpentNano: nano(sum(0)), periodHeldNano: nano(sum(1)) };
}

interface HoldMeta {
  readonly parentId: string | null;
  readonly requestId: string;
  readonly operation: string;
  readonly asked: string;
}

/** What a post says beside its amounts. */
export interface PostDetail {
  readonly upstreamNano: number;
  readonly provider: string | null;
  readonly served: string | null;
  readonly usage: TokenUsage | null;
  readonly estimated: boolean;
  readonly priceVersion: string | null;
}

const NO_DETAIL: PostDetail = {
  upstreamNano: 0,
  provider: null,
  served: null,
  usage: null,
  estimated: false,
  priceVersion: null,
};

function textOr(fields: Fields, name: string): string | null {
  return fields.get(name) || null;
}

export function postingRow(accountId: string, transactionId: string, fields: Fields): NumberedPosting | null {
  const kind = fields.get("kind");
  if (kind === undefined) return null;
  const meta = JSON.parse(fields.get("meta") ?? "null") as HoldMeta | null;
  const detail = JSON.parse(fields.get("detail") ?? "null") as PostDetail | null;
  const { upstreamNano, provider, served, usage, estimated, priceVersion } = detail ?? NO_DETAIL;
  const day = fields.get("day");
  return {
    transactionId,
    kind: kind as PostingRow["kind"],
    accountId,
    keyId: textOr(fields, "key"),
    parentId: meta?.parentId ?? null,
    requestId: meta?.requestId ?? null,
    createdAtMs: Number(fields.get("created")),
    operation: meta?.operation ?? null,
    asked: meta?.asked ?? null,
    served,
    provider,
    amountNano: amount(fields, "amount"),
    chargedCents: Number(fields.get("cents")),
    upstreamNano: nano(upstreamNano),
    absorbedNano: amount(fields, "absorbed"),
    absorbReason: textOr(fields, "absorb_reason"),
    usage,
    estimated,
    priceVersion,
    reference: textOr(fields, "reference"),
    reason: textOr(fields, "reason"),
    number: Number(fields.get("seq")),
    day: day === undefined ? null : Number(day),
    inference: fields.get("inference") === "1",
  };
}

export async function readPosting(link: LedgerLink, accountId: string, id: string): Promise<NumberedPosting | null> {
  return postingRow(accountId, id, await fieldsOf(link, `${accountBase(accountId)}:p:${id}`));
}

/** A cursor is worth something only in the list that it was given for. */
function cursorMark({ accountId, keyId }: Pick<PostingQuery, "accountId" | "keyId">): string {
  return hash("sha256", JSON.stringify([accountId, keyId])).slice(0, 12);
}

/** A page of an account's or a key's postings, newest first: those that Redis has, and on from there those of the archive. */
export async function listPostings(link: LedgerLink, archive: Archive, query: PostingQuery): Promise<PostingPage> {
  const { accountId, keyId, limit, cursor } = query;
  const [number = "", mark] = (cursor ?? "").split(".");
  if (cursor !== null && (mark !== cursorMark(query) || !/^\d{1,15}$/.test(number))) return { rows: [], next: null };
  const list = `${accountBase(accountId)}:x${keyId === null ? "" : `:${keyId}`}`;
  const from = cursor === null ? "+inf" : number;
  const ids = (await link.call("ZREVRANGEBYSCORE", list, from, "-inf", "LIMIT", "0", String(limit + 1))) as string[];
  const found = await Promise.all(ids.map((id) => readPosting(link, accountId, id)));
  const rows = new Map(found.flatMap((row) => (row === null ? [] : [[row.number, row] as const])));
  // What was listed and is gone has moved meanwhile; a posting is in the archive before it leaves, so nothing is missed.
  if (rows.size <= limit) {
    const archived = await archive.page(query, cursor === null ? null : Number(number), limit + 1);
    for (const row of archived) rows.set(row.number, row);
  }
  const page = [...rows.values()].sort((a, b) => b.number - a.number);
  const next = page[limit];
  return {
    rows: page.slice(0, limit).map(shownPosting),
    next: next === undefined ? null : `${next.number}.${cursorMark(query)}`,
  };
}
