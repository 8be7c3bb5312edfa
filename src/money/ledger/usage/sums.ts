// The daily sums of postings: their tables, and what updates them in the posting's transaction (triggers, or the ledger's tally where it
// writes many at once). Reports read these, never all postings.
import { DAY_MS } from "../model/windows.ts";
import { type Dialect, tagsOf } from "./statement.ts";

/** Distinct tags counted per account and day; further ones are counted together. */
export const TAG_PAIRS_MAX = 100;
/** Stands for all further tags of a day, and for everything with a tag: every real tag contains `=`. */
export const OTHER_TAGS = "*";
export const ANY_TAG = "";

export interface SumTables {
  readonly postings: string;
  /** The ascending order of an account's postings. */
  readonly number: string;
  readonly prefix: string;
}

export const LEDGER_TABLES: SumTables = { postings: "posting", number: "seq", prefix: "" };
export const ARCHIVE_TABLES: SumTables = { postings: "tollgate_posting", number: "number", prefix: "tollgate_" };

/** The sums, and their tables by key columns. A posting's null is an empty string in a sum. */
export const SUMS = ["calls", "amount", "upstream", "absorbed", "input_tokens", "output_tokens"] as const;
const KEPT_BY = {
  usage_day: ["day", "account_id", "kind", "key_id", "model", "provider"],
  /** Across all accounts: an operator's first question. */
  usage_total: ["day", "kind", "model", "provider"],
  /** Charges only; one counts under each of its tags, and once under `ANY_TAG`. */
  usage_tag: ["day", "account_id", "tag"],
} as const;
type SumTable = keyof typeof KEPT_BY;

export function sumTable({ prefix }: SumTables, table: SumTable): string {
  return prefix + table;
}

/** The columns by which a posting is counted, as expressions on its row. */
export function postingExpressions(row: string, day = `${row}created_at / ${DAY_MS}`) {
  return {
    day,
    account_id: `${row}account_id`,
    kind: `${row}kind`,
    key_id: `COALESCE(${row}key_id, '')`,
    model: `COALESCE(${row}served, ${row}asked, '')`,
    provider: `COALESCE(${row}provider, '')`,
  };
}

const RUN_MARK = "=run:";
const afterMark = `substr(windows, instr(windows, '${RUN_MARK}') + ${RUN_MARK.length})`;
/** A posting's run in SQLite, as a column that is computed. */
export const SQLITE_RUN_COLUMN = `run_id TEXT GENERATED ALWAYS AS (CASE WHEN instr(windows, '${RUN_MARK}') > 0 THEN
    substr(${afterMark}, 1, instr(${afterMark} || ';', ';') - 1) END) VIRTUAL`;

/** The run of a posting, which is the first among its windows, and whether it has one; both as the indexes by run have them. */
export function runOf(row: string, dialect: Dialect): { readonly run: string; readonly has: string } {
  return dialect === "sqlite"
    ? { run: `${row}run_id`, has: `${row}run_id IS NOT NULL` }
    : {
        run: `split_part(split_part(${row}windows, '${RUN_MARK}', 2), ';', 1)`,
        has: `${row}windows LIKE '%${RUN_MARK}%'`,
      };
}

export const INPUT = ["inputTokens", "cacheReadTokens", "cacheWriteTokens"] as const;
export const OUTPUT = ["outputTokens"] as const;

/** What one posting adds to each sum. `tokens` reads a count from its usage. */
function posted(row: string, tokens: (name: string) => string): Record<(typeof SUMS)[number], string> {
  const count = (names: readonly string[]) => names.map((name) => `COALESCE(${tokens(name)}, 0)`).join(" + ");
  return {
    calls: "1",
    amount: `${row}amount`,
    upstream: `${row}upstream`,
    absorbed: `${row}absorbed`,
    input_tokens: count(INPUT),
    output_tokens: count(OUTPUT),
  };
}

const sqliteTokens = (row: string) => (name: string) => `CAST(json_extract(${row}usage, '$.${name}') AS INTEGER)`;
const postgresTokens = (row: string) => (name: string) => `floor((${row}usage::json ->> '${name}')::numeric)::bigint`;

/** Sums over postings, for reports that the daily sums cannot answer. */
export function sumExpressions(row: string, dialect: Dialect) {
  return posted(row, dialect === "sqlite" ? sqliteTokens(row) : postgresTokens(row));
}

function tableSql(tables: SumTables, table: SumTable, number: string): string {
  const types = KEPT_BY[table].map((name) => `${name} ${name === "day" ? number : "text"} NOT NULL`);
  const sums = [...SUMS, ...(table === "usage_day" ? ["last"] : [])].map((name) => `${name} ${number} NOT NULL`);
  const columns = [...types, ...sums, `PRIMARY KEY (${KEPT_BY[table].join(", ")})`];
  return `CREATE TABLE ${sumTable(tables, table)} (${columns.join(", ")})`;
}

function onConflict(tables: SumTables, table: SumTable): string {
  const name = sumTable(tables, table);
  const added = SUMS.map((sum) => `${sum} = ${name}.${sum} + excluded.${sum}`);
  // An account's postings come in order.
  if (table === "usage_day") added.push("last = excluded.last");
  return `ON CONFLICT (${KEPT_BY[table].join(", ")}) DO UPDATE SET ${added.join(", ")}`;
}

export type Counted = Exclude<SumTable, "usage_tag">;

/** Sums the postings of `source` into a table. */
function build(tables: SumTables, table: Counted, source: string, dialect: Dialect): string {
  const by = postingExpressions("");
  const sums = sumExpressions("", dialect);
  const columns = KEPT_BY[table].map((name) => by[name as keyof typeof by]);
  const added = SUMS.map((sum) => (sum === "calls" ? "COUNT(*)" : `SUM(${sums[sum]})`));
  if (table === "usage_day") added.push(`MAX(${tables.number})`);
  return `INSERT INTO ${sumTable(tables, table)} SELECT ${[...columns, ...added].join(", ")} FROM ${source}
    GROUP BY ${columns.map((_, at) => at + 1).join(", ")}`;
}

/** Sums over all accounts; reads the postings once. */
function buildTotal(tables: SumTables): string {
  const by = KEPT_BY.usage_total.join(", ");
  const sums = SUMS.map((sum) => `SUM(${sum})`).join(", ");
  return `INSERT INTO ${sumTable(tables, "usage_total")} SELECT ${by}, ${sums} FROM ${sumTable(tables, "usage_day")} GROUP BY ${by}`;
}

/** Adds one posting, in a SQLite trigger. */
function countOne(tables: SumTables, table: Counted): string {
  const by = postingExpressions("new.");
  const sums = sumExpressions("new.", "sqlite");
  const values = [...KEPT_BY[table].map((name) => by[name as keyof typeof by]), ...SUMS.map((sum) => sums[sum])];
  if (table === "usage_day") values.push(`new.${tables.number}`);
  return `INSERT INTO ${sumTable(tables, table)} VALUES (${values.join(", ")}) ${onConflict(tables, table)};`;
}

/**
 * Adds a transaction's postings to a row of sums: key columns, sums, and for an account's day the last number. Sums are text, because a
 * bound number becomes a float, which is inexact beyond 2^53.
 */
export function tallyStatement(tables: SumTables, table: Counted): string {
  const by = KEPT_BY[table].map(() => "?");
  const sums = [...SUMS, ...(table === "usage_day" ? ["last"] : [])].map(() => "CAST(? AS INTEGER)");
  return `INSERT INTO ${sumTable(tables, table)} VALUES (${[...by, ...sums].join(", ")}) ${onConflict(tables, table)}`;
}

/** The tag under which a pair is counted: its own, or the one for further pairs. */
const TAG_COUNTED = `CASE WHEN known OR place + listed <= ${TAG_PAIRS_MAX} THEN pair ELSE '${OTHER_TAGS}' END`;

function listedTags(tags: string, row: string, day: string): string {
  return `SELECT COUNT(*) FROM ${tags} t WHERE t.day = ${day} AND t.account_id = ${row}account_id
        AND t.tag NOT IN ('${ANY_TAG}', '${OTHER_TAGS}')`;
}

function isKnown(tags: string, row: string, { day, pair }: { readonly day: string; readonly pair: string }): string {
  return `EXISTS (SELECT 1 FROM ${tags} t WHERE t.day = ${day} AND t.account_id = ${row}account_id AND t.tag = ${pair})`;
}

function sqliteTags(tables: SumTables): string {
  const tags = sumTable(tables, "usage_tag");
  const { day } = postingExpressions("new.");
  const sums = sumExpressions("new.", "sqlite");
  return `INSERT INTO ${tags} SELECT ${day}, new.account_id, tag, ${SUMS.map((sum) => sums[sum]).join(", ")} FROM (
      SELECT '${ANY_TAG}' AS tag UNION SELECT ${TAG_COUNTED} FROM (
        SELECT pair, known, ROW_NUMBER() OVER (PARTITION BY known ORDER BY pair) AS place,
          (${listedTags(tags, "new.", day)}) AS listed FROM (
          SELECT pair, ${isKnown(tags, "new.", { day, pair: "pair" })} AS known
            FROM (SELECT DISTINCT value AS pair FROM json_each(new.tags))))) WHERE true
    ${onConflict(tables, "usage_tag")};`;
}

/** Subtracts a posting, so that manual repairs keep the sums right. */
function takeOff(tables: SumTables, dialect: Dialect): string {
  const by: Record<string, string> = postingExpressions("old.");
  const sums = sumExpressions("old.", dialect);
  const tags = sumTable(tables, "usage_tag");
  const less = SUMS.map((sum) => `${sum} = ${sum} - (${sums[sum]})`).join(", ");
  const from = (table: Counted) =>
    `UPDATE ${sumTable(tables, table)} SET ${less} WHERE ${KEPT_BY[table].map((name) => `${name} = ${by[name]}`).join(" AND ")};`;
  const pairs = `(SELECT t.value FROM ${tagsOf(dialect, "old.tags")})`;
  const listed = `SELECT l.tag FROM ${tags} l WHERE l.day = ${by.day} AND l.account_id = old.account_id`;
  return `${from("usage_day")}
      ${from("usage_total")}
      UPDATE ${tags} SET ${less} WHERE old.kind = 'charge' AND old.tags IS NOT NULL AND day = ${by.day}
        AND account_id = old.account_id AND (tag = '${ANY_TAG}' OR tag IN ${pairs} OR (tag = '${OTHER_TAGS}'
          AND EXISTS (SELECT 1 FROM ${tagsOf(dialect, "old.tags")} WHERE t.value NOT IN (${listed}))));`;
}

/** Creates the tables, sums existing postings, and adds triggers; one step of a schema, inside its transaction. */
export function sqliteSums(tables: SumTables): string {
  const made = (Object.keys(KEPT_BY) as SumTable[]).map(
    (name) => `${tableSql(tables, name, "INTEGER")} STRICT, WITHOUT ROWID;`,
  );
  const { postings, prefix } = tables;
  return `
    ${made.join("\n")}
    ${build(tables, "usage_day", postings, "sqlite")};
    ${buildTotal(tables)};
    CREATE TRIGGER ${prefix}usage_of_posting AFTER INSERT ON ${postings} BEGIN
      ${countOne(tables, "usage_day")}
      ${countOne(tables, "usage_total")}
    END;
    CREATE TRIGGER ${prefix}tags_of_posting AFTER INSERT ON ${postings} WHEN new.kind = 'charge' AND new.tags IS NOT NULL BEGIN
      ${sqliteTags(tables)}
    END;
    CREATE TRIGGER ${prefix}usage_of_deleted AFTER DELETE ON ${postings} BEGIN
      ${takeOff(tables, "sqlite")}
    END;`;
}

function postgresTags(tables: SumTables): string {
  const tags = sumTable(tables, "usage_tag");
  const { day } = postingExpressions("");
  const sums = sumExpressions("f.", "postgres");
  return `WITH pairs AS (
      SELECT DISTINCT ${day} AS day, account_id, pair FROM fresh, json_array_elements_text(tags::json) AS p(pair)
        WHERE kind = 'charge' AND tags IS NOT NULL
    ), looked AS (
      SELECT p.day, p.account_id, p.pair, ${isKnown(tags, "p.", { day: "p.day", pair: "p.pair" })} AS known,
        (${listedTags(tags, "p.", "p.day")}) AS listed FROM pairs p
    ), placed AS (
      SELECT *, ROW_NUMBER() OVER (PARTITION BY day, account_id, known ORDER BY pair) AS place FROM looked
    ), counted AS (
      SELECT day, account_id, pair, ${TAG_COUNTED} AS tag FROM placed
    ), each AS (
      SELECT DISTINCT f.${tables.number}, f.account_id, c.tag FROM fresh f
        CROSS JOIN LATERAL json_array_elements_text(f.tags::json) AS p(pair)
        JOIN counted c ON c.day = f.created_at / ${DAY_MS} AND c.account_id = f.account_id AND c.pair = p.pair
        WHERE f.kind = 'charge' AND f.tags IS NOT NULL
      UNION ALL SELECT ${tables.number}, account_id, '${ANY_TAG}' FROM fresh WHERE kind = 'charge' AND tags IS NOT NULL
    )
    INSERT INTO ${tags} SELECT f.created_at / ${DAY_MS}, f.account_id, e.tag,
        ${SUMS.map((sum) => (sum === "calls" ? "COUNT(*)" : `SUM(${sums[sum]})`)).join(", ")}
      FROM fresh f JOIN each e ON e.account_id = f.account_id AND e.${tables.number} = f.${tables.number}
      GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ${onConflict(tables, "usage_tag")};`;
}

/** The same for PostgreSQL, safe to repeat: existing objects stay. Runs in a transaction. */
export function postgresSums(tables: SumTables): string {
  const { postings, prefix } = tables;
  const counted = `${prefix}count_usage`;
  const fresh = (table: Counted) =>
    `${build(tables, table, "fresh", "postgres")} ORDER BY 1, 2, 3, 4 ${onConflict(tables, table)};`;
  return `
    CREATE OR REPLACE FUNCTION ${counted}() RETURNS trigger LANGUAGE plpgsql AS $count$ BEGIN
      ${fresh("usage_day")}
      ${fresh("usage_total")}
      IF EXISTS (SELECT 1 FROM fresh WHERE kind = 'charge' AND tags IS NOT NULL) THEN
        ${postgresTags(tables)}
      END IF;
      RETURN NULL;
    END $count$;
    CREATE OR REPLACE FUNCTION ${counted}_off() RETURNS trigger LANGUAGE plpgsql AS $count$ BEGIN
      ${takeOff(tables, "postgres")}
      RETURN NULL;
    END $count$;
    DO $sums$ BEGIN
      IF to_regclass('${sumTable(tables, "usage_day")}') IS NULL THEN
        -- Nobody adds a posting between the sums of what is there and the trigger that counts what comes.
        LOCK TABLE ${postings} IN SHARE ROW EXCLUSIVE MODE;
        ${(Object.keys(KEPT_BY) as SumTable[]).map((name) => `${tableSql(tables, name, "bigint")};`).join("\n")}
        ${build(tables, "usage_day", postings, "postgres")};
        ${buildTotal(tables)};
        CREATE TRIGGER ${prefix}usage_of_posting AFTER INSERT ON ${postings}
          REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION ${counted}();
        CREATE TRIGGER ${prefix}usage_of_deleted AFTER DELETE ON ${postings}
          FOR EACH ROW EXECUTE FUNCTION ${counted}_off();
      END IF;
    END $sums$;`;
}
