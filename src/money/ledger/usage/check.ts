// I14: checks that every daily sum equals its postings, day by day, each in one snapshot, while calls continue.

import type { Row } from "../archive/rows.ts";
import { DAY_MS, dayOf } from "../model/windows.ts";
import type { AskReports } from "./reports.ts";
import { StatementWriter, tagsOf } from "./statement.ts";
import { ANY_TAG, OTHER_TAGS, postingExpressions, SUMS, sumExpressions, sumTable } from "./sums.ts";

const FAULTS_MAX = 5;

/** Stored sums minus the sums of postings: anything but zero is an error. */
function differences(by: readonly string[], kept: string, postings: string): string {
  const sums = SUMS.map((sum) => `CAST(SUM(${sum}) AS text) AS ${sum}`);
  const wrong = SUMS.map((sum) => `SUM(${sum}) <> 0`);
  return `SELECT ${[...by, ...sums].join(", ")} FROM (${kept} UNION ALL ${postings}) AS found
    GROUP BY ${by.join(", ")} HAVING ${wrong.join(" OR ")} LIMIT ${FAULTS_MAX}`;
}

function textOf(day: number, by: readonly string[], row: Row): string {
  const what = by.map((name) => row[name] || "-").join(" ");
  const apart = SUMS.filter((sum) => row[sum] !== "0").map((sum) => `${sum} by ${row[sum]}`);
  const date = new Date(day * DAY_MS).toISOString().slice(0, 10);
  return `the sums of ${date} ${what} differ from its postings: ${apart.join(", ")}`;
}

/** A day's postings with negated amounts. */
function taken(day: number, by: readonly string[], books: AskReports, write: StatementWriter): string {
  const expressions: Record<string, string> = postingExpressions("");
  const sums = sumExpressions("", books.dialect);
  const columns = [...by.map((name) => `${expressions[name]} AS ${name}`), ...SUMS.map((sum) => `-(${sums[sum]})`)];
  return `SELECT ${columns.join(", ")} FROM ${books.tables.postings}
    WHERE created_at >= ${write.value(day * DAY_MS)} AND created_at < ${write.value((day + 1) * DAY_MS)}
      ${books.counted === undefined ? "" : `AND ${books.tables.number} <= (${books.counted})`}`;
}

function ofTable(table: "usage_day" | "usage_total", by: readonly string[]) {
  return async (day: number, books: AskReports): Promise<string[]> => {
    const write = new StatementWriter(books.dialect);
    const kept = `SELECT ${[...by, ...SUMS].join(", ")} FROM ${sumTable(books.tables, table)} WHERE day = ${write.value(day)}`;
    const rows = await books.ask(write.statement(differences(by, kept, taken(day, by, books, write))));
    return rows.map((row) => textOf(day, by, row));
  };
}

async function ofTags(day: number, books: AskReports): Promise<string[]> {
  const { tables, dialect } = books;
  const write = new StatementWriter(dialect);
  const tags = sumTable(tables, "usage_tag");
  const by = ["account_id", "tag"];
  const kept = `SELECT ${[...by, ...SUMS].join(", ")} FROM ${tags} WHERE day = ${write.value(day)}`;
  const sums = SUMS.map((sum) => `-(${sumExpressions("p.", dialect)[sum]}) AS ${sum}`);
  const tagged = `p.created_at >= ${write.value(day * DAY_MS)} AND p.created_at < ${write.value((day + 1) * DAY_MS)}
    AND p.kind = 'charge' AND p.tags IS NOT NULL`;
  const postings = `SELECT account_id, tag, ${SUMS.join(", ")} FROM (
      SELECT DISTINCT p.${tables.number}, p.account_id, COALESCE(u.tag, '${OTHER_TAGS}') AS tag, ${sums.join(", ")}
        FROM ${tables.postings} p JOIN ${tagsOf(dialect, "p.tags")} ON true
        LEFT JOIN ${tags} u ON u.day = ${write.value(day)} AND u.account_id = p.account_id AND u.tag = t.value
        WHERE ${tagged}
      UNION ALL SELECT p.${tables.number}, p.account_id, '${ANY_TAG}', ${sums.join(", ")} FROM ${tables.postings} p WHERE ${tagged}
    ) AS each`;
  const rows = await books.ask(write.statement(differences(by, kept, postings)));
  return rows.map((row) => textOf(day, by, row));
}

const CHECKS = [
  ofTable("usage_day", ["account_id", "kind", "key_id", "model", "provider"]),
  ofTable("usage_total", ["kind", "model", "provider"]),
  ofTags,
] as const;

/** The ends of an index, queried separately: for both at once SQLite reads everything in between. */
function endsOf(column: string, table: string): string {
  return `SELECT (SELECT MIN(${column}) FROM ${table}) AS first, (SELECT MAX(${column}) FROM ${table}) AS last`;
}

export async function sumFaults(books: AskReports): Promise<readonly string[]> {
  const { postings } = books.tables;
  const ask = async (text: string) => (await books.ask({ text, values: [] }))[0] ?? {};
  const kept = await ask(endsOf("day", sumTable(books.tables, "usage_day")));
  const there = await ask(endsOf("created_at", postings));
  const days = [kept.first, kept.last].flatMap((day) => (day == null ? [] : [Number(day)]));
  days.push(...[there.first, there.last].flatMap((ms) => (ms == null ? [] : [dayOf(Number(ms))])));
  const faults: string[] = [];
  if (days.length === 0) return faults;
  for (let day = Math.min(...days); day <= Math.max(...days) && faults.length < FAULTS_MAX; day++) {
    for (const check of CHECKS) faults.push(...(await check(day, books)));
  }
  return faults.slice(0, FAULTS_MAX);
}
