// Parses the text lines of holds and postings in Redis.
import { hash } from "node:crypto";
import type { PostingPage, PostingQuery, PostingRow } from "../../../core/account-rows.ts";
import { nano } from "../../../core/money.ts";
import type { RunPostingQuery } from "../../../core/usage-rows.ts";
import { type Archive, listedPosting, type NumberedPosting, shownPosting } from "../archive/archive.ts";
import { POSTING_FIELDS } from "../model/fields.ts";
import { type PackedLeg, unpackLegs } from "../model/legs.ts";
import { runIn } from "../model/window-list.ts";
import { holdLines, postingLines, postingText } from "./lines.ts";
import { accountBase, callKey } from "./rows.ts";
import type { LedgerLink } from "./script.ts";

const READ_AT_ONCE = 500;

/** Where a live hold is counted. */
export interface HoldRow {
  readonly amount: number;
  readonly keyId: string;
  readonly day: string;
  readonly inference: boolean;
  /** In compact form. */
  readonly windows: string;
  readonly slots: readonly string[];
}

export function holdRow(text: string | null): HoldRow | null {
  const lines = holdLines(text);
  if (lines === null) return null;
  return {
    amount: Number(lines.amount),
    keyId: lines.key,
    day: lines.day,
    inference: lines.inference === "1",
    windows: (JSON.parse(lines.meta) as { readonly windows?: string }).windows ?? "",
    slots: lines.slots.split("\t").filter((scope) => scope !== ""),
  };
}

const nanoIn = (value: unknown) => nano(Number(value ?? 0));
/** The fields that are not the stored text itself; absent values are null. */
const READ: { readonly [Field in keyof NumberedPosting]?: (value: unknown) => unknown } = {
  createdAtMs: Number,
  day: (value) => (value === null ? null : Number(value)),
  inference: (value) => value === "1",
  amountNano: nanoIn,
  chargedCents: Number,
  upstreamNano: nanoIn,
  absorbedNano: nanoIn,
  estimated: (value) => value ?? false,
  reference: (value) => value || null,
  tags: (value) => value ?? [],
  legs: (value) => unpackLegs(value as readonly PackedLeg[] | null),
  number: Number,
};
const PLACES = Object.entries(POSTING_FIELDS).flatMap(([field, { redis }]) => {
  if (redis === null || redis === "the key's name") return [];
  const [part = "", name = ""] = redis.split(".");
  return [{ field: field as keyof NumberedPosting, part, name }];
});

/** Null where the text is not a posting, or only the archive has more than its amounts. */
export function postingRow(accountId: string, transactionId: string, text: string | null): NumberedPosting | null {
  const lines = postingLines(text);
  if (lines === null || lines.at === "") return null;
  const json: Readonly<Record<string, Record<string, unknown>>> = {
    meta: JSON.parse(lines.meta || "{}"),
    detail: JSON.parse(lines.detail || "{}"),
  };
  const posting: Record<string, unknown> = {};
  for (const { field, part, name } of PLACES) {
    const value = name === "" ? lines[part as keyof typeof lines] || null : (json[part]?.[name] ?? null);
    posting[field] = READ[field] === undefined ? value : READ[field](value);
  }
  const reason = json.detail?.reason || posting.reason;
  return { ...posting, reason, ...runIn(lines.windows), accountId, transactionId } as unknown as NumberedPosting;
}

export function creditDetail(reference: string, reason: string): string {
  return JSON.stringify({ reference, reason });
}

/** Replaces a charge that moved to the archive; holds what a repeated post must return. */
export function archivedText({ amountNano, chargedCents, absorbedNano }: PostingRow): string {
  return postingText({ kind: "charge", amount: amountNano, cents: chargedCents, absorbed: absorbedNano });
}

/** The calls' texts in the order of their ids; null where one is missing. */
export async function readCalls(
  link: LedgerLink,
  accountId: string,
  ids: readonly string[],
): Promise<readonly (string | null)[]> {
  const texts: (string | null)[] = [];
  for (let at = 0; at < ids.length; at += READ_AT_ONCE) {
    const keys = ids.slice(at, at + READ_AT_ONCE).map((id) => callKey(accountId, id));
    texts.push(...((await link.call("MGET", ...keys)) as (string | null)[]));
  }
  return texts;
}

/** The postings among these calls, in their order. */
export async function readPostings(link: LedgerLink, accountId: string, ids: readonly string[]) {
  const texts = await readCalls(link, accountId, ids);
  return ids.map((id, at) => postingRow(accountId, id, texts[at] ?? null)).filter((posting) => posting !== null);
}

export async function readPosting(link: LedgerLink, accountId: string, id: string): Promise<NumberedPosting | null> {
  return postingRow(accountId, id, (await link.call("GET", callKey(accountId, id))) as string | null);
}

/** Ties a cursor to the list that it came from. */
function cursorMark({ accountId, keyId }: Pick<PostingQuery, "accountId" | "keyId">): string {
  return hash("sha256", JSON.stringify([accountId, keyId])).slice(0, 12);
}

/** The newest postings in Redis up to number `from`, of one key or all. Redis keeps only recent ones, so they are scanned. */
async function latest(
  link: LedgerLink,
  { accountId, keyId }: PostingQuery,
  from: string,
  count: number,
): Promise<Map<number, NumberedPosting>> {
  const found = new Map<number, NumberedPosting>();
  for (let skip = 0; found.size < count; skip += READ_AT_ONCE) {
    const limit = keyId === null ? count : READ_AT_ONCE;
    const range = [`${accountBase(accountId)}:x`, from, "-inf", "LIMIT", String(skip), String(limit)];
    const ids = (await link.call("ZREVRANGEBYSCORE", ...range)) as string[];
    for (const row of await readPostings(link, accountId, ids))
      if (keyId === null || row.keyId === keyId) found.set(row.number, row);
    if (ids.length < limit || keyId === null) break;
  }
  return found;
}

/** A page of an account's or key's postings, newest first: from Redis, then from the archive. */
export async function listPostings(link: LedgerLink, archive: Archive, query: PostingQuery): Promise<PostingPage> {
  const { limit, cursor } = query;
  const [number = "", mark] = (cursor ?? "").split(".");
  if (cursor !== null && (mark !== cursorMark(query) || !/^\d{1,15}$/.test(number))) return { rows: [], next: null };
  const rows = await latest(link, query, cursor === null ? "+inf" : number, limit + 1);
  // Postings that were listed and are gone have moved. A posting is in the archive before it leaves Redis, so none is missed.
  if (rows.size <= limit) {
    const archived = await archive.page(query, cursor === null ? null : Number(number), limit + 1);
    for (const row of archived) rows.set(row.number, row);
  }
  const page = [...rows.values()].sort((a, b) => b.number - a.number);
  const next = page[limit];
  return {
    rows: page.slice(0, limit).map(listedPosting),
    next: next === undefined ? null : `${next.number}.${cursorMark(query)}`,
  };
}

/** A page of runs' charges, oldest first: from the archive, then from Redis, which keeps only recent postings, so they are scanned. */
export async function listRunPostings(
  link: LedgerLink,
  archive: Archive,
  query: RunPostingQuery,
): Promise<PostingPage> {
  const { accountId, runIds, cursor, limit } = query;
  const runs = new Set(runIds);
  const recent: NumberedPosting[] = [];
  for (let from = cursor ?? "0"; recent.length <= limit; ) {
    const range = [`${accountBase(accountId)}:x`, `(${from}`, "+inf", "WITHSCORES", "LIMIT", "0", String(READ_AT_ONCE)];
    // RESP3 nests the pairs.
    const pairs = ((await link.call("ZRANGEBYSCORE", ...range)) as unknown[]).flat().map(String);
    const ids = pairs.filter((_, at) => at % 2 === 0);
    const rows = await readPostings(link, accountId, ids);
    recent.push(...rows.filter(({ runId }) => runId !== undefined && runs.has(runId)));
    if (ids.length < READ_AT_ONCE) break;
    from = pairs.at(-1) ?? from;
  }
  // A posting is in the archive before it leaves Redis, so none is missed.
  const { rows, next } = await archive.runPostings(query);
  if (next !== null) return { rows, next };
  const known = new Set(rows.map(({ transactionId }) => transactionId));
  const fresh = recent.filter(({ transactionId }) => !known.has(transactionId));
  const page = fresh.slice(0, limit - rows.length);
  const after = fresh[page.length];
  return { rows: [...rows, ...page.map(shownPosting)], next: after === undefined ? null : String(after.number - 1) };
}
