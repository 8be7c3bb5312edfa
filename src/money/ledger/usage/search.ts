// Searches postings: an account's along its list, all accounts' by time, and runs' by their index.
import type { PostingPage } from "../../../core/account-rows.ts";
import { eachOf, inSlices } from "../../../core/slices.ts";
import type { PostingSearch, RunPostingQuery, TooWide } from "../../../core/usage-rows.ts";
import { postingRow, wholePosting } from "../archive/rows.ts";
import type { AskReports } from "./reports.ts";
import { sourceOf } from "./source.ts";
import { cursorIn, cursorOf, listed, StatementWriter, where } from "./statement.ts";
import { postingExpressions, runOf } from "./sums.ts";
import { hasTag, isOneDay } from "./usage.ts";

/** The name of the first filter that needs a scan; such searches must stay within one day. */
function fineFilter(query: PostingSearch): string | null {
  const { accountId, keyId, model, provider, tag, kind } = query;
  const fine = { model, provider, tag, status: kind, key: accountId === null ? keyId : null };
  return Object.entries(fine).find(([, value]) => value !== null)?.[0] ?? null;
}

export async function searchPostings(query: PostingSearch, books: AskReports): Promise<PostingPage | TooWide> {
  const { accountId, keyId, kind, provider, model, tag, fromMs, toMs, limit } = query;
  const fine = fineFilter(query);
  if (fine !== null && !isOneDay(fromMs, toMs)) return { tooWide: fine };
  const order = books.linked
    ? ["created_at", "seq"]
    : accountId === null
      ? ["created_at", "account_id", "number"]
      : ["number"];
  const after = query.cursor === null ? [] : cursorIn(query.cursor, order);
  if (after === null) return { rows: [], next: null };
  const write = new StatementWriter(books.dialect);
  const source = await sourceOf(query, write, books, books.linked && after.length > 0 ? Number(after[1]) : null);
  if (source === null) return { rows: [], next: null };
  const by = postingExpressions("p.");
  const is = (expression: string, value: string | number | null) =>
    value === null ? null : `${expression} = ${write.value(value)}`;
  const place = order.map((name) => `p.${name}`);
  const conditions = [
    ...source.conditions,
    is("p.account_id", accountId),
    is("p.key_id", keyId),
    is(by.model, model),
    is(by.provider, provider),
    kind === null ? null : `p.kind ${kind === "charged" ? "=" : "<>"} 'charge'`,
    hasTag(tag, write, books.dialect),
    fromMs === null ? null : `p.created_at >= ${write.value(fromMs)}`,
    toMs === null ? null : `p.created_at < ${write.value(toMs)}`,
    after.length === 0 ? null : `(${place.join(", ")}) < (${after.map((value) => write.value(value)).join(", ")})`,
  ];
  // Walk an account's list in its own order: sorting it would walk it to its end.
  const walked = books.linked && accountId !== null;
  const sorted = walked ? "" : `ORDER BY ${place.map((name) => `${name} DESC`).join(", ")}`;
  const text = `SELECT p.* FROM ${source.rows} ${where(conditions)} ${sorted} LIMIT ${limit + 1}`;
  const found = await books.ask(write.statement(text));
  const page = found.slice(0, limit);
  const last = found.length > limit ? page.at(-1) : undefined;
  return {
    rows: await inSlices(eachOf(page, postingRow)),
    next:
      last === undefined
        ? null
        : cursorOf(order.map((name) => (name === "account_id" ? String(last[name]) : Number(last[name])))),
  };
}

/** The charges of runs in their order. */
export async function readRunPostings(
  { accountId, runIds, cursor, limit }: RunPostingQuery,
  { tables, dialect, ask }: AskReports,
): Promise<PostingPage> {
  const write = new StatementWriter(dialect);
  const { run, has } = runOf("p.", dialect);
  const [only = "", ...more] = runIds;
  // Of a single run the index has the order too.
  const which = more.length === 0 ? `= ${write.value(only)}` : `IN (${listed(runIds, write, dialect)})`;
  const text = `SELECT p.* FROM ${tables.postings} p WHERE p.account_id = ${write.value(accountId)}
    AND ${has} AND ${run} ${which} AND p.${tables.number} > ${write.value(Number(cursor ?? 0))}
    ORDER BY p.${tables.number} LIMIT ${limit + 1}`;
  const found = await ask(write.statement(text));
  const page = found.slice(0, limit);
  const rows = await inSlices(eachOf(page, wholePosting));
  return { rows, next: found.length > limit ? String(page.at(-1)?.[tables.number]) : null };
}
