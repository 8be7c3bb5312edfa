// Chooses the postings to scan: an account's along its list, with ends known from the daily sums, or else all.
import type { PostingFilters } from "../../../core/usage-rows.ts";
import { dayOf } from "../model/windows.ts";
import type { AskReports } from "./reports.ts";
import { StatementWriter } from "./statement.ts";
import { sumTable } from "./sums.ts";

/** Rows as `p`, newest first for one account, with further conditions. */
export interface Source {
  readonly rows: string;
  readonly conditions: readonly string[];
}

type OfAccount = PostingFilters & { readonly accountId: string };

/** The days with postings in the range: the first, and the one after the last. */
export interface Days {
  readonly from: number;
  readonly to: number;
}

export async function daysOf(
  { fromMs, toMs }: Pick<PostingFilters, "fromMs" | "toMs">,
  { ask, tables }: AskReports,
): Promise<Days | null> {
  const text = `SELECT MIN(day) AS first, MAX(day) AS last FROM ${sumTable(tables, "usage_total")}`;
  const [known] = await ask({ text, values: [] });
  if (known?.first == null) return null;
  const from = Math.max(Number(known.first), fromMs === null ? 0 : dayOf(fromMs));
  const to = Math.min(Number(known.last), toMs === null ? Number(known.last) : dayOf(toMs - 1)) + 1;
  return from < to ? { from, to } : null;
}

/** The last posting of an account or key in these days, and their count. Looks days up one by one, newest first. */
async function endOf(query: OfAccount, keyId: string | null, books: AskReports) {
  const days = await daysOf(query, books);
  if (days === null) return null;
  const table = sumTable(books.tables, "usage_day");
  const write = new StatementWriter(books.dialect);
  const ofKey = keyId === null ? "" : ` AND u.key_id = ${write.value(keyId)}`;
  const text = `WITH RECURSIVE days(day) AS (SELECT ${write.value(days.to - 1)}
      UNION ALL SELECT day - 1 FROM days WHERE day > ${write.value(days.from)})
    SELECT MAX(u.last) AS last, SUM(u.calls) AS calls FROM days JOIN ${table} u ON u.day = days.day
      AND u.account_id = ${write.value(query.accountId)}${ofKey}`;
  const [found] = await books.ask(write.statement(text));
  return found?.last == null ? null : { last: Number(found.last), calls: Number(found.calls) };
}

async function alongLinks(query: OfAccount, write: StatementWriter, books: AskReports, at: number | null) {
  const { postings } = books.tables;
  const start = at ?? (await endOf(query, query.keyId, books))?.last;
  if (start === undefined) return null;
  const link = query.keyId === null ? "before_of_account" : "before_of_key";
  const from = query.fromMs === null ? "" : `AND w.created_at >= ${write.value(query.fromMs)}`;
  const rows = `(WITH RECURSIVE walk AS (
      SELECT * FROM ${postings} WHERE seq = ${write.value(start)} AND account_id = ${write.value(query.accountId)}
      UNION ALL SELECT n.* FROM walk w JOIN ${postings} n ON n.seq = w.${link} ${from}
    ) SELECT * FROM walk) p`;
  return { rows, conditions: [] };
}

/** `at`: where the walk along the links begins, if not at the last posting. Null: no postings. */
export async function sourceOf(
  query: PostingFilters,
  write: StatementWriter,
  books: AskReports,
  at: number | null,
): Promise<Source | null> {
  const { accountId } = query;
  const all = { rows: `${books.tables.postings} p`, conditions: [] };
  if (accountId === null) return all;
  if (books.linked) return alongLinks({ ...query, accountId }, write, books, at);
  if (query.fromMs === null && query.toMs === null) return all;
  // Numbers have no gaps and grow with time, so the last number and the count give the first.
  const end = await endOf({ ...query, accountId }, null, books);
  if (end === null) return null;
  const [last, before] = [write.value(end.last), write.value(end.last - end.calls)];
  return { ...all, conditions: [`p.number <= ${last} AND p.number > ${before}`] };
}
