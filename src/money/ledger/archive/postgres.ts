// The archive in PostgreSQL, for several machines, and for other programs that read the books.
import { randomUUID } from "node:crypto";
import { Pool, type QueryConfig } from "pg";
import { GatewayError } from "../../../core/errors.ts";
import type { Value } from "../../../platform/storage/reading-thread.ts";
import { ARCHIVE_TABLES, postgresSums, runOf } from "../usage/sums.ts";
import type { Archive } from "./archive.ts";
import { archiveOn, conflictText, QUERIES } from "./queries.ts";
import { ADDED, type ArchiveRow, COLUMNS, type Row } from "./rows.ts";

const CONNECTIONS_MAX = 4;
const CONNECT_MS_MAX = 5_000;
const IDLE_MS_MAX = 60_000;
/** Query timeout; a dead network never answers. */
const ANSWER_MS_MAX = 10_000;
/** Reports scan many postings. */
const REPORT_MS_MAX = 600_000;
const RETRY_AFTER_SECONDS = 5;
const APPEND_TRIES = 3;
/** Advisory lock while tables are created, so that processes that start together create them once. An arbitrary number. */
const SCHEMA_LOCK = 7_205_759;

const columns = Object.entries(COLUMNS).map(([name, type]) => `${name} ${type}`);
/** Checks first, because ALTER TABLE waits for all readers and blocks new ones. */
const additions = ADDED.map(
  (name) => `
    IF NOT EXISTS (SELECT 1 FROM pg_attribute
        WHERE attrelid = 'tollgate_posting'::regclass AND attname = '${name}' AND NOT attisdropped) THEN
      ALTER TABLE tollgate_posting ADD COLUMN ${name} ${COLUMNS[name]};
    END IF;`,
);
const BY_RUN = runOf("", "postgres");
const SCHEMA = `
  BEGIN;
  SELECT pg_advisory_xact_lock(${SCHEMA_LOCK});
  CREATE TABLE IF NOT EXISTS tollgate_posting
    (${columns.join(", ")}, PRIMARY KEY (account_id, number), UNIQUE (transaction_id));
  DO $$ BEGIN ${additions.join("")} END $$;
  CREATE INDEX IF NOT EXISTS tollgate_posting_by_key ON tollgate_posting (account_id, key_id, number)
    WHERE key_id IS NOT NULL;
  CREATE INDEX IF NOT EXISTS tollgate_posting_by_run ON tollgate_posting (account_id, (${BY_RUN.run}), number)
    WHERE ${BY_RUN.has};
  CREATE INDEX IF NOT EXISTS tollgate_posting_by_time ON tollgate_posting (created_at, account_id, number);
  ${postgresSums(ARCHIVE_TABLES)}
  CREATE TABLE IF NOT EXISTS tollgate_archive (id text NOT NULL);
  INSERT INTO tollgate_archive SELECT '${randomUUID()}' WHERE NOT EXISTS (SELECT 1 FROM tollgate_archive);
  COMMIT;
`;
/** One statement, so all or nothing: stores new rows unless a different posting has the place or id of one. */
const APPEND = `
  WITH given AS MATERIALIZED (
    SELECT * FROM json_populate_recordset(null::tollgate_posting, $1::text::json)
  ), placed AS MATERIALIZED (
    SELECT g.transaction_id, g.account_id, g.number, COALESCE(p.transaction_id, t.transaction_id) AS other_id,
      COALESCE(p.account_id, t.account_id) AS other_account, COALESCE(p.number, t.number) AS other_number,
      p.transaction_id = g.transaction_id AS same,
      p.transaction_id <> g.transaction_id OR t.account_id <> g.account_id OR t.number <> g.number AS misplaced
    FROM given g
      LEFT JOIN tollgate_posting p ON p.account_id = g.account_id AND p.number = g.number
      LEFT JOIN tollgate_posting t ON t.transaction_id = g.transaction_id
  ), fresh AS (
    INSERT INTO tollgate_posting SELECT * FROM given WHERE NOT EXISTS (SELECT 1 FROM placed WHERE misplaced)
      ON CONFLICT DO NOTHING RETURNING 1
  )
  SELECT (SELECT COUNT(*) FROM fresh) AS kept, (SELECT COUNT(*) FROM placed WHERE same) AS there, other.*
    FROM (SELECT 1) AS one LEFT JOIN (SELECT * FROM placed WHERE misplaced LIMIT 1) AS other ON true`;

/** PostgreSQL refuses NUL in texts, even in a name to look for. No stored text has one. */
function storable(value: Value): Value {
  return typeof value === "string" ? value.replaceAll("\0", "\ufffd") : value;
}

/** Opens the archive in the database at `url`, and creates missing tables. Rejects with a sentence for the operator. */
export async function openPostgresArchive(url: string): Promise<Archive> {
  const pool = new Pool({
    connectionString: url,
    max: CONNECTIONS_MAX,
    connectionTimeoutMillis: CONNECT_MS_MAX,
    idleTimeoutMillis: IDLE_MS_MAX,
    keepAlive: true,
    application_name: "tollgate",
    statement_timeout: REPORT_MS_MAX,
    // Archived postings leave Redis, so commits must be on disk whatever the server's setting. Reports run faster than they would compile.
    options: "-c synchronous_commit=on -c jit=off",
  });
  // The pool replaces lost idle connections.
  pool.on("error", () => {});

  /** A caller gets an error while the archive is down, and retries. */
  async function ask(
    name: string | null,
    text: string,
    values: readonly Value[],
    msMax = ANSWER_MS_MAX,
  ): Promise<Row[]> {
    const asked: QueryConfig & { readonly query_timeout: number } = {
      ...(name === null ? {} : { name: `tollgate ${name}` }),
      text,
      values: values.map(storable),
      query_timeout: msMax,
    };
    try {
      return (await pool.query(asked)).rows as Row[];
    } catch (cause) {
      throw new GatewayError("ledger_unavailable", { retryAfterSeconds: RETRY_AFTER_SECONDS, cause });
    }
  }

  async function append(rows: readonly ArchiveRow[]): Promise<string | null> {
    const text = JSON.stringify(rows);
    for (let tries = 1; tries <= APPEND_TRIES; tries++) {
      const [found = {}] = await ask("append", APPEND, [text]);
      const { other_id: id = null, other_account: account = null, other_number: number = null } = found;
      if (id !== null) return conflictText(found, { transaction_id: id, account_id: account, number });
      // Another process was storing some of them meanwhile; a second look finds whether they are the same.
      if (Number(found.kept) + Number(found.there) === rows.length) return null;
    }
    throw new GatewayError("ledger_unavailable", { retryAfterSeconds: RETRY_AFTER_SECONDS });
  }

  try {
    await pool.query(SCHEMA);
    const { rows } = await pool.query<{ id: string }>("SELECT id FROM tollgate_archive");
    return archiveOn(rows[0]?.id ?? "", {
      query: (name, parameters) => ask(name, QUERIES[name], parameters),
      append,
      dialect: "postgres",
      ask: ({ text, values }) => ask(null, text, values, REPORT_MS_MAX),
      close: () => pool.end(),
    });
  } catch (error) {
    await pool.end();
    const words = error instanceof Error ? error.message || String((error as { code?: unknown }).code) : String(error);
    throw new Error(`the archive at ARCHIVE_URL cannot be opened: ${words}`, { cause: error });
  }
}
