// Reads what the ledger keeps of calls in Redis: holds and postings, from lines of text to rows.
import { hash } from "node:crypto";
import type { PostingPage, PostingQuery, PostingRow } from "../../../core/account-rows.ts";
import { nano } from "../../../core/money.ts";
import type { TokenUsage } from "../../../core/route.ts";
import { type Archive, listedPosting, type NumberedPosting } from "../archive/archive.ts";
import { type PackedLeg, unpackLegs } from "../model/legs.ts";
import { holdLines, postingLines, postingText } from "./lines.ts";
import { accountBase, callKey } from "./rows.ts";
import type { LedgerLink } from "./script.ts";

const READ_AT_ONCE = 500;

interface HoldMeta {
  readonly parentId: string | null;
  readonly requestId: string;
  readonly operation: string;
  readonly asked: string;
  readonly windows?: string;
}

/** What a posting says beside its amounts: a charge what was served, a credit why it was given. */
interface PostDetail {
  readonly upstreamNano?: number;
  readonly provider?: string | null;
  readonly served?: string | null;
  readonly usage?: TokenUsage | null;
  readonly estimated?: boolean;
  readonly priceVersion?: string | null;
  readonly legs?: readonly PackedLeg[];
  readonly tags?: readonly string[];
  readonly reference?: string;
  readonly reason?: string;
}

/** What a live hold is counted in. */
export interface HoldRow {
  readonly amount: number;
  readonly keyId: string;
  readonly day: string;
  readonly inference: boolean;
  /** In their short form. */
  readonly windows: string;
  readonly slots: readonly string[];
}

/** Null where it is no hold. */
export function holdRow(text: string | null): HoldRow | null {
  const lines = holdLines(text);
  if (lines === null) return null;
  return {
    amount: Number(lines.amount),
    keyId: lines.key,
    day: lines.day,
    inference: lines.inference === "1",
    windows: (JSON.parse(lines.meta) as HoldMeta).windows ?? "",
    slots: lines.slots.split("\t").filter((scope) => scope !== ""),
  };
}

/** Null where it is no posting, or one of which only the archive knows more than the amounts. */
export function postingRow(accountId: string, transactionId: string, text: string | null): NumberedPosting | null {
  const lines = postingLines(text);
  if (lines === null || lines.at === "") return null;
  const meta = lines.meta === "" ? null : (JSON.parse(lines.meta) as HoldMeta);
  const detail = JSON.parse(lines.detail || "{}") as PostDetail;
  return {
    transactionId,
    kind: lines.kind as PostingRow["kind"],
    accountId,
    keyId: lines.key || null,
    parentId: meta?.parentId ?? null,
    requestId: meta?.requestId ?? null,
    createdAtMs: Number(lines.at),
    operation: meta?.operation ?? null,
    asked: meta?.asked ?? null,
    served: detail.served ?? null,
    provider: detail.provider ?? null,
    amountNano: nano(Number(lines.amount)),
    chargedCents: Number(lines.cents),
    upstreamNano: nano(detail.upstreamNano ?? 0),
    absorbedNano: nano(Number(lines.absorbed)),
    absorbReason: lines.absorb_reason || null,
    usage: detail.usage ?? null,
    estimated: detail.estimated ?? false,
    priceVersion: detail.priceVersion ?? null,
    reference: detail.reference || null,
    reason: detail.reason || lines.reason || null,
    legs: unpackLegs(detail.legs),
    tags: detail.tags ?? [],
    number: Number(lines.seq),
    day: lines.day === "" ? null : Number(lines.day),
    inference: lines.inference === "1",
    windows: lines.windows || null,
  };
}

/** The detail of a credit's posting. */
export function creditDetail(reference: string, reason: string): string {
  return JSON.stringify({ reference, reason });
}

/** What stays in the place of a charge that has moved to the archive: what a repeated post must be told. */
export function archivedText({ amountNano, chargedCents, absorbedNano }: PostingRow): string {
  return postingText({ kind: "charge", amount: amountNano, cents: chargedCents, absorbed: absorbedNano });
}

/** Texts of calls, in the order of their ids; null where there is none. */
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

export async function readPosting(link: LedgerLink, accountId: string, id: string): Promise<NumberedPosting | null> {
  return postingRow(accountId, id, (await link.call("GET", callKey(accountId, id))) as string | null);
}

/** A cursor is worth something only in the list that it was given for. */
function cursorMark({ accountId, keyId }: Pick<PostingQuery, "accountId" | "keyId">): string {
  return hash("sha256", JSON.stringify([accountId, keyId])).slice(0, 12);
}

/** The newest postings in Redis up to number `from`, of one key or of all; Redis keeps the latest alone, so they are looked through. */
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
    const texts = await readCalls(link, accountId, ids);
    for (const [at, id] of ids.entries()) {
      const row = postingRow(accountId, id, texts[at] ?? null);
      if (row !== null && (keyId === null || row.keyId === keyId)) found.set(row.number, row);
    }
    if (ids.length < limit || keyId === null) break;
  }
  return found;
}

/** A page of an account's or a key's postings, newest first: those that Redis has, and on from there those of the archive. */
export async function listPostings(link: LedgerLink, archive: Archive, query: PostingQuery): Promise<PostingPage> {
  const { limit, cursor } = query;
  const [number = "", mark] = (cursor ?? "").split(".");
  if (cursor !== null && (mark !== cursorMark(query) || !/^\d{1,15}$/.test(number))) return { rows: [], next: null };
  const rows = await latest(link, query, cursor === null ? "+inf" : number, limit + 1);
  // What was listed and is gone has moved meanwhile; a posting is in the archive before it leaves, so nothing is missed.
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
