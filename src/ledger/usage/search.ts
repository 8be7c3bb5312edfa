// Finds postings: those of an account along its list, those of all accounts by their time.
import type { PostingPage, PostingRow } from "../../account-rows.ts";
import type { PostingSearch, TooWide } from "../../usage-rows.ts";
import { dayOf } from "../model/windows.ts";
import type { AskReports, Row } from "./reports.ts";
import { cursorIn, cursorOf, StatementWriter, where } from "./statement.ts";
import { postingExpressions, sumTable } from "./sums.ts";
import { hasTag, isOneDay } from "./usage.ts";

/** The filters that postings are looked through for, so that they are of one day. */
function fineFilter(query: PostingSearch): string | null {
  const { accountId, keyId, model, provider, tag, kind } = query;
  const fine = { model, provider, tag, status: kind, key: accountId === null ? keyId : null };
  return Object.entries(fine).find(([, value]) => value !== null)?.[0] ?? null;
}

/** What was an account's, or its key's, last posting up to the end of the search; null: it has none. */
async function newestOf(query: PostingSearch, books: AskReports): Promise<number | null> {
  const write = new StatementWriter(books.dialect);
  const table = sumTable(books.tables, "usage_day");
  const { accountId, keyId, toMs } = query;
  const days = await books.ask({ text: `SELECT MIN(day) AS first, MAX(day) AS last FROM ${table}`, values: [] });
  const [first, last] = [Number(days[0]?.first ?? 0), Number(days[0]?.last ?? -1)];
  const newest = toMs === null ? last : Math.min(last, dayOf(toMs));
  const conditions = [
    `account_id = ${write.value(accountId)}`,
    keyId === null ? null : `key_id = ${write.value(keyId)}`,
  ];
  // Newest first, and no further than the first day that has one.
  const text = `WITH RECURSIVE days(day) AS (SELECT ${write.value(newest)} UNION ALL SELECT day - 1 FROM days WHERE day > ${write.value(first)})
    SELECT (SELECT MAX(u.last) FROM ${table} u WHERE u.day = days.day AND ${conditions.filter((one) => one !== null).join(" AND ")}) AS last
    FROM days WHERE EXISTS (SELECT 1 FROM ${table} u WHERE u.day = days.day AND ${conditions.filter((one) => one !== null).join(" AND ")}) LIMIT 1`;
  const [found] = await books.ask(write.statement(text));
  return found?.last == null ? null : Number(found.last);
}

/** The rows that are looked through, newest first, as `p`. */
async function source(
  query: PostingSearch,
  at: number | null,
  write: StatementWriter,
  books: AskReports,
): Promise<string | null> {
  const { postings } = books.tables;
  if (query.accountId === null || !books.linked) return `${postings} p`;
  const start = at ?? (await newestOf(query, books));
  if (start === null) return null;
  const link = query.keyId === null ? "before_of_account" : "before_of_key";
  const from = query.fromMs === null ? "" : `AND w.created_at >= ${write.value(query.fromMs)}`;
  return `(WITH RECURSIVE walk AS (
      SELECT * FROM ${postings} WHERE seq = ${write.value(start)} AND account_id = ${write.value(query.accountId)}
      UNION ALL SELECT n.* FROM walk w JOIN ${postings} n ON n.seq = w.${link} ${from}
    ) SELECT * FROM walk) p`;
}

export async function searchPostings(
  query: PostingSearch,
  books: AskReports,
  rowOf: (row: Row) => PostingRow,
): Promise<PostingPage | TooWide> {
  const { accountId, keyId, kind, provider, model, tag, fromMs, toMs, limit } = query;
  const fine = fineFilter(query);
  if (fine !== null && !isOneDay(fromMs, toMs)) return { tooWide: fine };
  const order = books.linked
    ? ["created_at", "seq"]
    : accountId === null
      ? ["created_at", "account_id", "number"]
      : ["number"];
  const after = query.cursor === null ? [] : cursorIn(query.cursor, order.length);
  if (after === null) return { rows: [], next: null };
  const write = new StatementWriter(books.dialect);
  const from = await source(query, books.linked && after.length > 0 ? Number(after[1]) : null, write, books);
  if (from === null) return { rows: [], next: null };
  const by = postingExpressions("p.");
  const is = (expression: string, value: string | number | null) =>
    value === null ? null : `${expression} = ${write.value(value)}`;
  const place = order.map((name) => `p.${name}`);
  const conditions = [
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
  // An account's list is walked in its order: to sort it would be to walk it to its end.
  const walked = books.linked && accountId !== null;
  const sorted = walked ? "" : `ORDER BY ${place.map((name) => `${name} DESC`).join(", ")}`;
  const text = `SELECT p.* FROM ${from} ${where(conditions)} ${sorted} LIMIT ${limit + 1}`;
  const found = await books.ask(write.statement(text));
  const page = found.slice(0, limit);
  const last = found.length > limit ? page.at(-1) : undefined;
  return {
    rows: page.map(rowOf),
    next:
      last === undefined
        ? null
        : cursorOf(order.map((name) => (name === "account_id" ? String(last[name]) : Number(last[name])))),
  };
}
