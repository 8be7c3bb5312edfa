// Usage reports: from the daily sums where they suffice, else from one day's postings.
import { eachOf, inSlices } from "../../../core/slices.ts";
import type { TooWide, UsageField, UsagePage, UsageQuery, UsageRow } from "../../../core/usage-rows.ts";
import { DAY_MS, dayOf } from "../model/windows.ts";
import type { AskReports } from "./reports.ts";
import { type Days, daysOf, type Source, sourceOf } from "./source.ts";
import { cursorIn, cursorOf, listed, StatementWriter, tagsOf, where } from "./statement.ts";
import { ANY_TAG, OTHER_TAGS, postingExpressions, runOf, SUMS, sumExpressions, sumTable } from "./sums.ts";

const COLUMN: Readonly<Record<UsageField, string>> = {
  account: "account_id",
  key: "key_id",
  model: "model",
  provider: "provider",
  day: "day",
  tag: "tag",
  group: "group_id",
  run: "run_id",
};
const FINE = ["key", "model", "provider"] as const;

function isWhole(ms: number | null): boolean {
  return ms === null || ms % DAY_MS === 0;
}

/** Whether a query lies within one day; only such queries may scan postings. */
export function isOneDay(fromMs: number | null, toMs: number | null): boolean {
  return fromMs !== null && toMs !== null && dayOf(Math.max(fromMs, toMs - 1)) === dayOf(fromMs);
}

/** Why the daily sums do not suffice; null where they do. */
function notInSums(query: UsageQuery): string | null {
  if (query.by.includes("run")) return "run";
  if (!isWhole(query.fromMs)) return "from";
  if (!isWhole(query.toMs)) return "to";
  const filtered: Readonly<Record<(typeof FINE)[number], string | null>> = {
    key: query.keyId,
    model: query.model,
    provider: query.provider,
  };
  const fine = FINE.find((field) => query.by.includes(field) || filtered[field] !== null);
  const byTag = query.tag !== null || query.by.includes("tag");
  const told = fine ?? (query.by.includes("group") ? "group" : undefined);
  return byTag && told !== undefined ? told : null;
}

interface Asking {
  readonly query: UsageQuery;
  readonly write: StatementWriter;
  readonly books: AskReports;
  /** A query for the ids of sandbox accounts. */
  readonly sandboxAccounts: () => string;
}

function filters({ query, write, books, sandboxAccounts }: Asking, names: Readonly<Record<string, string>>): string[] {
  const { accountId, keyId, model, provider, sandbox } = query;
  const given = { account_id: accountId, key_id: keyId, model, provider };
  const conditions = Object.entries(given).flatMap(([name, value]) =>
    value === null ? [] : [`${names[name] ?? name} = ${write.value(value)}`],
  );
  const [first] = query.by;
  if (query.only !== undefined && first !== undefined)
    conditions.push(`${names[COLUMN[first]] ?? COLUMN[first]} IN (${listed(query.only, write, books.dialect)})`);
  if (sandbox === null) return conditions;
  return [...conditions, `${names.account_id ?? "account_id"} ${sandbox ? "IN" : "NOT IN"} (${sandboxAccounts()})`];
}

function kindIs(query: UsageQuery, kind: string): string {
  return query.kind === "charged" ? `${kind} = 'charge'` : `${kind} <> 'charge'`;
}

/** Lists days one by one, where an account's rows are indexed by day among all others. */
function within({ from, to }: Days, write: StatementWriter, ofAccounts: boolean): string {
  const [first, end] = [write.value(from), write.value(to)];
  if (!ofAccounts) return `day >= ${first} AND day < ${end}`;
  return `day IN (WITH RECURSIVE days(day) AS (SELECT ${first} UNION ALL SELECT day + 1 FROM days WHERE day + 1 < ${end})
    SELECT day FROM days)`;
}

/** The group of a row's key; empty where it has none. */
function groupOf({ query, write, books }: Asking, keyId: string): string {
  const groups = write.value(JSON.stringify(query.groups ?? {}));
  return `COALESCE(${groups}${books.dialect === "postgres" ? "::json" : ""} ->> ${keyId}, '')`;
}

/** The rows to sum: group columns and sums. */
function rowsOfSums(asking: Asking, days: Days): string {
  const { query, write, books } = asking;
  const columns = query.by.map((field) => COLUMN[field]);
  const select = (
    table: "usage_day" | "usage_total" | "usage_tag",
    conditions: string[],
    more?: Partial<Record<string, string>>,
  ) => {
    const as: Partial<Record<string, string>> = columns.includes(COLUMN.group)
      ? { ...more, [COLUMN.group]: groupOf(asking, "key_id") }
      : { ...more };
    const names = [...columns, ...SUMS].map((name) => (as[name] === undefined ? name : `${as[name]} AS ${name}`));
    return `SELECT ${["0 AS z", ...names].join(", ")} FROM ${sumTable(books.tables, table)} ${where(conditions)}`;
  };
  const inDays = () => [
    within(days, write, query.accountId !== null || query.sandbox === true || query.only !== undefined),
    ...filters(asking, {}),
  ];
  const less = Object.fromEntries(SUMS.map((name) => [name, `-${name}`]));
  if (query.tag !== null) {
    const tag = write.value(query.tag);
    // Credits have no tags.
    return select("usage_tag", [...inDays(), query.kind === "charged" ? `tag = ${tag}` : "1 = 0"]);
  }
  const ofAccounts = query.by.some((field) => field !== "day" && field !== "model" && field !== "provider");
  if (!ofAccounts && query.accountId === null && query.keyId === null && query.sandbox !== true) {
    const plain = { ...asking, query: { ...query, sandbox: null } };
    const all = select("usage_total", [within(days, write, false), ...filters(plain, {}), kindIs(query, "kind")]);
    if (query.sandbox === null) return all;
    // Sandbox accounts are few: subtract their sums from the total.
    const theirs = { ...asking, query: { ...query, sandbox: true } };
    const conditions = [within(days, write, true), ...filters(theirs, {}), kindIs(query, "kind")];
    return `${all} UNION ALL ${select("usage_day", conditions, less)}`;
  }
  if (!query.by.includes("tag")) return select("usage_day", [...inDays(), kindIs(query, "kind")]);
  const untagged = select("usage_day", [...inDays(), kindIs(query, "kind")], { tag: "''" });
  if (query.kind === "credited") return untagged;
  // The untagged rest is the total minus everything tagged.
  return [
    untagged,
    select("usage_tag", [...inDays(), `tag = '${ANY_TAG}'`], less),
    select("usage_tag", [...inDays(), `tag <> '${ANY_TAG}'`]),
  ].join(" UNION ALL ");
}

function rowsOfPostings(asking: Asking, source: Source): string {
  const { query, write } = asking;
  const { dialect } = asking.books;
  const own = postingExpressions("p.");
  const byGroup = query.by.includes("group") ? { [COLUMN.group]: groupOf(asking, own.key_id) } : {};
  const by: Record<string, string> = { ...own, ...byGroup, [COLUMN.run]: `COALESCE(${runOf("p.", dialect).run}, '')` };
  const sums = sumExpressions("p.", dialect);
  const columns = query.by.map((field) =>
    field === "tag" ? "COALESCE(t.value, '') AS tag" : `${by[COLUMN[field]]} AS ${COLUMN[field]}`,
  );
  const perTag = query.by.includes("tag") ? `LEFT JOIN ${tagsOf(dialect, "p.tags")} ON true` : "";
  const conditions = [
    ...source.conditions,
    `p.created_at >= ${write.value(query.fromMs)} AND p.created_at < ${write.value(query.toMs)}`,
    kindIs(query, "p.kind"),
    ...filters(asking, by),
    hasTag(query.tag, write, dialect),
  ];
  const names = ["0 AS z", ...columns, ...SUMS.map((sum) => `${sums[sum]} AS ${sum}`)];
  return `SELECT ${names.join(", ")} FROM ${source.rows} ${perTag} ${where(conditions)}`;
}

/** The condition that a posting `p` has a tag. */
export function hasTag(tag: string | null, write: StatementWriter, dialect: AskReports["dialect"]): string | null {
  if (tag === null) return null;
  return `p.tags IS NOT NULL AND EXISTS (SELECT 1 FROM ${tagsOf(dialect, "p.tags")} WHERE t.value = ${write.value(tag)})`;
}

function rowIn(query: UsageQuery, row: Readonly<Record<string, string | number | null>>): UsageRow {
  const text = (name: string) => String(row[name] ?? "0");
  const group = query.by.map((field) => {
    const value = row[COLUMN[field]];
    return [
      field,
      field === "day" ? new Date(Number(value) * DAY_MS).toISOString().slice(0, 10) : String(value),
    ] as const;
  });
  return {
    group: Object.fromEntries(group),
    calls: Number(text("calls")),
    amountNano: text("amount"),
    upstreamNano: text("upstream"),
    absorbedNano: text("absorbed"),
    inputTokens: Number(text("input_tokens")),
    outputTokens: Number(text("output_tokens")),
  };
}

/** Whether some tags of these days were counted together. */
async function hasFurtherTags(asking: Asking, days: Days): Promise<boolean> {
  const { query, books, write } = asking;
  const conditions = [within(days, write, query.accountId !== null), ...filters(asking, {}), `tag = '${OTHER_TAGS}'`];
  const text = `SELECT 1 AS one FROM ${sumTable(books.tables, "usage_tag")} ${where(conditions)} LIMIT 1`;
  return (await books.ask(write.statement(text))).length > 0;
}

/** Starts a report; each of its statements has its own parameters. */
function askingOf(query: UsageQuery, books: AskReports, ids: readonly string[]): Asking {
  const write = new StatementWriter(books.dialect);
  return { query, write, books, sandboxAccounts: () => books.sandboxAccounts ?? listed(ids, write, books.dialect) };
}

const NOTHING: UsagePage = { rows: [], next: null, mayLackTags: false };

/** `sandboxAccounts`: their ids, where the postings' store does not know them. */
export async function readUsage(
  query: UsageQuery,
  books: AskReports,
  sandboxAccounts: readonly string[],
): Promise<UsagePage | TooWide> {
  const oneDay = isOneDay(query.fromMs, query.toMs);
  const fine = notInSums(query);
  if (fine !== null && !oneDay) return { tooWide: fine };
  const reads = fine !== null || (query.tag !== null && oneDay);
  const days = await daysOf(reads ? { ...query, fromMs: null, toMs: null } : query, books);
  const columns = query.by.map((field) => COLUMN[field]);
  const after = query.cursor === null ? [] : cursorIn(query.cursor, columns);
  if (days === null || after === null) return NOTHING;
  const asking = askingOf(query, books, sandboxAccounts);
  const { write } = asking;
  const source = reads ? await sourceOf(query, write, books, null) : null;
  if (reads && source === null) return NOTHING;
  const rows = source === null ? rowsOfSums(asking, days) : rowsOfPostings(asking, source);
  // As text: the sum over all accounts may exceed exact numbers.
  const sums = SUMS.map((sum) => `CAST(SUM(${sum}) AS text) AS ${sum}`);
  const place = columns.length === 0 ? "z" : columns.join(", ");
  const from = after.length === 0 ? "" : `WHERE (${place}) > (${after.map((value) => write.value(value)).join(", ")})`;
  // Find postings by time first: an index's order would read all of them.
  const first = source === null ? "" : `WITH found AS MATERIALIZED (${rows}) `;
  const text = `${first}SELECT ${[...columns, ...sums].join(", ")} FROM ${source === null ? `(${rows}) AS found` : "found"} ${from}
    GROUP BY ${place} HAVING SUM(calls) <> 0 ORDER BY ${query.largestFirst === true ? "SUM(amount) DESC, " : ""}${place} LIMIT ${query.limit + 1}`;
  const found = await books.ask(write.statement(text));
  const page = found.slice(0, query.limit);
  const last = found.length > query.limit && query.largestFirst !== true ? page.at(-1) : undefined;
  return {
    rows: await inSlices(eachOf(page, (row) => rowIn(query, row))),
    // PostgreSQL returns large numbers as text; a day is small in both.
    next:
      last === undefined
        ? null
        : cursorOf(columns.map((name) => (name === "day" ? Number(last[name]) : (last[name] ?? "")))),
    mayLackTags: query.tag !== null && !reads && (await hasFurtherTags(askingOf(query, books, sandboxAccounts), days)),
  };
}
