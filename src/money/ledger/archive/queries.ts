// The archive's queries, in SQL that both SQLite and PostgreSQL understand.
import type { Value } from "../../../platform/storage/reading-thread.ts";
import { sumFaults } from "../usage/check.ts";
import { type AskReports, reportsOf } from "../usage/reports.ts";
import type { Dialect, Statement } from "../usage/statement.ts";
import { ARCHIVE_TABLES } from "../usage/sums.ts";
import type { Archive } from "./archive.ts";
import { type ArchiveRow, archiveRow, numberedPosting, type Row } from "./rows.ts";

const TABLE = "tollgate_posting";

/** Parameters are `$1` and on. */
export const QUERIES = {
  transaction: `SELECT * FROM ${TABLE} WHERE transaction_id = $1`,
  ofAccount: `SELECT * FROM ${TABLE} WHERE account_id = $1 AND number <= $2 ORDER BY number DESC LIMIT $3`,
  ofKey: `SELECT * FROM ${TABLE} WHERE account_id = $1 AND key_id = $4 AND number <= $2 ORDER BY number DESC LIMIT $3`,
  after: `SELECT * FROM ${TABLE} WHERE account_id = $1 AND number > $2 ORDER BY number LIMIT $3`,
} as const;

export type QueryName = keyof typeof QUERIES;

export interface ArchiveTable {
  query(name: QueryName, parameters: readonly Value[]): Promise<readonly Row[]>;
  append(rows: readonly ArchiveRow[]): Promise<string | null>;
  readonly dialect: Dialect;
  /** For reports: on a connection of its own, beside appends. */
  ask(statement: Statement): Promise<readonly Row[]>;
  close(): Promise<void>;
}

/** The error for a place in the archive that a different posting has. */
export function conflictText({ transaction_id, account_id, number }: Row, archived: Row | undefined): string {
  const other = archived === undefined ? "nothing" : `${archived.account_id} ${archived.number}`;
  const id = archived?.transaction_id === transaction_id ? "is" : `is ${archived?.transaction_id ?? ""} and not`;
  return `posting ${number} of ${account_id} is ${transaction_id}; in the archive ${other} ${id} it`;
}

const postings = (rows: readonly Row[]) => rows.map((row) => numberedPosting(row));

export function archiveOn(id: string, { query, append, close, dialect, ask }: ArchiveTable): Archive {
  const books: AskReports = { tables: ARCHIVE_TABLES, dialect, linked: false, sandboxAccounts: null, ask };

  return {
    id,
    append: (given) => (given.length === 0 ? Promise.resolve(null) : append(given.map(archiveRow))),
    async transaction(accountId, transactionId) {
      const [found] = postings(await query("transaction", [transactionId]));
      return found !== undefined && (accountId === null || found.accountId === accountId) ? found : null;
    },
    async page({ accountId, keyId }, from, limit) {
      const common = [accountId, from ?? Number.MAX_SAFE_INTEGER, limit];
      return postings(await (keyId === null ? query("ofAccount", common) : query("ofKey", [...common, keyId])));
    },
    after: async (accountId, after, limit) => postings(await query("after", [accountId, after, limit])),
    sumFaults: () => sumFaults(books),
    ...reportsOf(books),
    close,
  };
}
