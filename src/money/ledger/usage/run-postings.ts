// Reads the charges of runs in their order, by the index of postings by run.
import type { PostingPage } from "../../../core/account-rows.ts";
import { eachOf, inSlices } from "../../../core/slices.ts";
import type { RunPostingQuery } from "../../../core/usage-rows.ts";
import { postingRow, type Row } from "../archive/rows.ts";
import { legsIn } from "../model/legs.ts";
import type { AskReports } from "./reports.ts";
import { listed, StatementWriter } from "./statement.ts";
import { runOf } from "./sums.ts";

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
  const whole = (row: Row) => ({ ...postingRow(row), legs: legsIn(row.legs == null ? null : String(row.legs)) });
  const rows = await inSlices(eachOf(page, whole));
  return { rows, next: found.length > limit ? String(page.at(-1)?.[tables.number]) : null };
}
