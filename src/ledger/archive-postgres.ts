// The archive in PostgreSQL, for processes on several machines, and for books that other programs read.
import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { GatewayError } from "../errors.ts";
import type { Archive } from "./archive.ts";
import { archiveOn, conflictText, QUERIES, type Row } from "./archive-queries.ts";
import { type ArchiveRow, COLUMNS } from "./archive-rows.ts";

const CONNECTIONS_MAX = 4;
const CONNECT_SECONDS_MAX = 5;
const IDLE_SECONDS_MAX = 60;
const STATEMENT_MS_MAX = 10_000;
const RETRY_AFTER_SECONDS = 5;
/** Taken while the tables are made, so that processes that start together make them once. Any number that nobody else takes. */
const SCHEMA_LOCK = 7_205_759;

const columns = Object.entries(COLUMNS).map(([name, type]) => `${name} ${type}`);
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS tollgate_posting
    (${columns.join(", ")}, PRIMARY KEY (account_id, number), UNIQUE (transaction_id));
  CREATE INDEX IF NOT EXISTS tollgate_posting_by_key ON tollgate_posting (account_id, key_id, number)
    WHERE key_id IS NOT NULL;
  CREATE TABLE IF NOT EXISTS tollgate_archive (id text NOT NULL);
`;
const INSERT = `INSERT INTO tollgate_posting SELECT * FROM json_populate_recordset(null::tollgate_posting, $1::text::json)
  ON CONFLICT DO NOTHING`;
/** What was to be kept and is not there, with what has its place or its id. */
const MISPLACED = `SELECT given.transaction_id, given.account_id, given.number,
    other.transaction_id AS other_id, other.account_id AS other_account, other.number AS other_number
  FROM json_populate_recordset(null::tollgate_posting, $1::text::json) AS given
  JOIN tollgate_posting other ON other.transaction_id = given.transaction_id
    OR (other.account_id = given.account_id AND other.number = given.number)
  WHERE other.transaction_id <> given.transaction_id OR other.account_id <> given.account_id
    OR other.number <> given.number
  LIMIT 1`;

class Misplaced extends Error {}

function connect(url: string) {
  return postgres(url, {
    max: CONNECTIONS_MAX,
    connect_timeout: CONNECT_SECONDS_MAX,
    idle_timeout: IDLE_SECONDS_MAX,
    onnotice: () => {},
    connection: {
      application_name: "tollgate",
      statement_timeout: STATEMENT_MS_MAX,
      // What has been archived leaves Redis: it must be on the disk, whatever the server's own setting.
      synchronous_commit: "on",
    },
  });
}

/** Opens the archive in the database at `url`; its tables are made where they are missing. Rejects with a sentence for the operator. */
export async function openPostgresArchive(url: string): Promise<Archive> {
  const sql = connect(url);

  /** Whoever is told that the archive is away asks again later. */
  async function ask<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      throw new GatewayError("ledger_unavailable", { retryAfterSeconds: RETRY_AFTER_SECONDS, cause });
    }
  }

  async function append(rows: readonly ArchiveRow[]): Promise<string | null> {
    const text = JSON.stringify(rows);
    try {
      await sql.begin(async (transaction) => {
        const { count } = await transaction.unsafe(INSERT, [text], { prepare: true });
        if (count === rows.length) return;
        const [found] = (await transaction.unsafe(MISPLACED, [text], { prepare: true })) as unknown as Row[];
        if (found === undefined) return;
        const { other_id, other_account, other_number } = found;
        const other = {
          transaction_id: other_id ?? null,
          account_id: other_account ?? null,
          number: other_number ?? null,
        };
        throw new Misplaced(conflictText(found, other));
      });
      return null;
    } catch (error) {
      if (error instanceof Misplaced) return error.message;
      throw error;
    }
  }

  try {
    const id = await prepareTables(sql);
    return archiveOn(id, {
      query: (name, parameters) =>
        ask(async () => [...(await sql.unsafe(QUERIES[name], [...parameters], { prepare: true }))] as unknown as Row[]),
      append: (rows) => ask(() => append(rows)),
      close: () => sql.end({ timeout: CONNECT_SECONDS_MAX }),
    });
  } catch (error) {
    await sql.end({ timeout: 0 });
    const words = error instanceof Error ? error.message || String((error as { code?: unknown }).code) : String(error);
    throw new Error(`the archive at ARCHIVE_URL cannot be opened: ${words}`, { cause: error });
  }
}

/** Answers the archive's id. */
async function prepareTables(sql: ReturnType<typeof connect>): Promise<string> {
  return sql.begin(async (transaction) => {
    await transaction.unsafe(`SELECT pg_advisory_xact_lock(${SCHEMA_LOCK})`);
    await transaction.unsafe(SCHEMA);
    const [known] = await transaction.unsafe("SELECT id FROM tollgate_archive");
    if (known !== undefined) return String(known.id);
    const id = randomUUID();
    await transaction.unsafe("INSERT INTO tollgate_archive VALUES ($1)", [id]);
    return id;
  });
}
