// Which postings are looked through: those of an account along its list, which its daily sums know the ends of; else all.
import type { PostingFilters } from "../../../core/usage-rows.ts";
import { dayOf } from "../model/windows.ts";
import type { AskReports } from "./reports.ts";
import { StatementWriter } from "./statement.ts";
import { sumTable } from "./sums.ts";

/** Rows as `p`, newest first where they are of one account; and what must hold of them beside what was asked. */
export interface Source {
  readonly rows: string;
  readonly conditions: readonly string[];
}

type OfAccount = PostingFilters & { readonly accountId: string };

/** The days that have postings, within those that were asked for: the first and the last. */
async function daysOf({ fromMs, toMs }: PostingFilters, books: AskReports) {
  const text = `SELECT MIN(day) AS first, MAX(day) AS last FROM ${sumTable(books.tables, "usage_total")}`;
  const [known] = await books.ask({ text, values: [] });
  if (known?.first == null) return null;
  return {
    first: Math.max(Number(known.first), fromMs === null ? 0 : dayOf(fromMs)),
    last: Math.min(Number(known.last), toMs === null ? Number(known.last) : dayOf(toMs - 1)),
  };
}

/** An account's last posting of these days, or a key's, and how many it has there. Days are looked up one by one, newest first. */
async function endOf(query: OfAccount, keyId: string | null, books: AskReports) {
  const days = await daysOf(query, books);
  if (days === null) return null;
  const table = sumTable(books.tables, "usage_day");
  const write = new StatementWriter(books.dialect);
  const ofKey = keyId === null ? "" : ` AND u.key_id = ${write.value(keyId)}`;
  const text = `WITH RECURSIVE days(day) AS (SELECT ${write.value(days.last)}
      UNION ALL SELECT day - 1 FROM days WHERE day > ${write.value(days.first)})
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

/** `at`: where the walk along the links begins, if not with the last posting. Null: there are none. */
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
  // Numbers have no gap and rise with time: the last of these days, and how many there are, say where the first is.
  const end = await endOf({ ...query, accountId }, null, books);
  if (end === null) return null;
  const [last, before] = [write.value(end.last), write.value(end.last - end.calls)];
  return { ...all, conditions: [`p.number <= ${last} AND p.number > ${before}`] };
}
