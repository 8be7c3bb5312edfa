// The archive's queries, in SQL that both SQLite and PostgreSQL understand.
import { nano } from "../../../core/money.ts";
import type { Value } from "../../../platform/storage/reading-thread.ts";
import { legsFault, legsIn } from "../model/legs.ts";
import { sumFaults } from "../usage/check.ts";
import { type AskReports, reportsOf } from "../usage/reports.ts";
import type { Dialect, Statement } from "../usage/statement.ts";
import { ARCHIVE_TABLES } from "../usage/sums.ts";
import type { Archive, ArchiveSums } from "./archive.ts";
import { type ArchiveRow, archiveRow, numberedPosting, type Row } from "./rows.ts";

const TABLE = "tollgate_posting";
const FAULTS_MAX = 5;
const LEGS_AT_ONCE = 500;

/** Parameters are `$1` and on. */
export const QUERIES = {
  transaction: `SELECT * FROM ${TABLE} WHERE transaction_id = $1`,
  ofAccount: `SELECT * FROM ${TABLE} WHERE account_id = $1 AND number <= $2 ORDER BY number DESC LIMIT $3`,
  ofKey: `SELECT * FROM ${TABLE} WHERE account_id = $1 AND key_id = $4 AND number <= $2 ORDER BY number DESC LIMIT $3`,
  after: `SELECT * FROM ${TABLE} WHERE account_id = $1 AND number > $2 ORDER BY number LIMIT $3`,
  last: `SELECT MAX(number) AS last FROM ${TABLE} WHERE account_id = $1`,
  sums: `SELECT COUNT(*) AS count, MAX(created_at) AS latest, SUM(charged_cents) AS cents, SUM(absorbed) AS absorbed,
      SUM(CASE WHEN kind = 'charge' THEN amount ELSE 0 END) AS charged,
      SUM(CASE WHEN kind = 'charge' THEN 0 ELSE amount END) AS credited
    FROM ${TABLE} WHERE account_id = $1 AND number <= $2`,
  days: `SELECT key_id, day, inference, windows, SUM(amount) AS charged,
      SUM(CASE WHEN upstream > amount THEN upstream - amount ELSE 0 END) AS unpaid,
      SUM(CASE WHEN amount > upstream THEN amount - upstream ELSE 0 END) AS margin,
      SUM(CASE WHEN number >= $3 THEN absorbed ELSE 0 END) AS absorbed FROM ${TABLE}
    WHERE account_id = $1 AND number <= $2 AND kind = 'charge' GROUP BY key_id, day, inference, windows
    ORDER BY key_id, day, inference, windows`,
  legs: `SELECT number, transaction_id, upstream, legs FROM ${TABLE}
    WHERE account_id = $1 AND number <= $2 AND number > $3 AND legs IS NOT NULL ORDER BY number LIMIT ${LEGS_AT_ONCE}`,
  disorder: `SELECT transaction_id, created_at FROM (
      SELECT transaction_id, created_at, LAG(created_at) OVER (ORDER BY number) AS before FROM ${TABLE}
        WHERE account_id = $1 AND number <= $2) AS ordered
    WHERE created_at < before LIMIT ${FAULTS_MAX}`,
  badRefunds: `SELECT r.transaction_id, r.amount, c.amount AS charged FROM ${TABLE} r
      LEFT JOIN ${TABLE} c ON c.transaction_id = r.reference AND c.account_id = r.account_id AND c.kind = 'charge'
        AND c.number < r.number
    WHERE r.account_id = $1 AND r.number <= $2 AND r.kind = 'refund' AND (c.amount IS NULL OR c.amount <> r.amount)
    LIMIT ${FAULTS_MAX}`,
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

/** Checks legs, which no query that both databases understand can sum. */
async function legFaults(query: ArchiveTable["query"], accountId: string, upTo: number): Promise<string[]> {
  const faults: string[] = [];
  for (let after = 0; faults.length < FAULTS_MAX; ) {
    const rows = await query("legs", [accountId, upTo, after]);
    for (const { transaction_id, upstream, legs } of rows) {
      const posting = { transactionId: String(transaction_id), upstreamNano: nano(Number(upstream)) };
      const fault = legsFault({ ...posting, legs: legsIn(String(legs)) });
      if (fault !== null) faults.push(fault);
    }
    if (rows.length < LEGS_AT_ONCE) break;
    after = Number(rows.at(-1)?.number);
  }
  return faults.slice(0, FAULTS_MAX);
}

async function sumsOf(
  query: ArchiveTable["query"],
  accountId: string,
  upTo: number,
  absorbedFrom: number,
): Promise<ArchiveSums> {
  // Sequentially: each query may scan everything, and other requests wait meanwhile.
  const ask = (name: QueryName) => query(name, [accountId, upTo]);
  const [all = {}] = await ask("sums");
  const days = await query("days", [accountId, upTo, absorbedFrom]);
  const [disorder, badRefunds] = [await ask("disorder"), await ask("badRefunds")];
  const number = (name: string) => Number(all[name] ?? 0);
  return {
    count: number("count"),
    charged: number("charged"),
    credited: number("credited"),
    cents: number("cents"),
    absorbed: number("absorbed"),
    latestMs: number("latest"),
    days: days.map(({ key_id, day, inference, windows, unpaid, margin, charged, absorbed }) => ({
      keyId: String(key_id),
      day: Number(day),
      inference: Number(inference) === 1,
      windows: windows === null ? null : String(windows),
      unpaid: Number(unpaid),
      margin: Number(margin),
      charged: Number(charged),
      absorbed: Number(absorbed),
    })),
    faults: [
      ...disorder.map(
        ({ transaction_id: late, created_at: at }) =>
          ["I12", `${late} is of ${at}, earlier than what came before it`] as const,
      ),
      ...badRefunds.map(
        ({ transaction_id: refund, amount, charged }) =>
          ["I9", `${refund} refunds ${amount} of a charge of ${charged ?? "nothing"}`] as const,
      ),
      ...(await legFaults(query, accountId, upTo)).map((fault) => ["I13", fault] as const),
    ],
  };
}

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
    sums: (accountId, upTo, absorbedFrom) => sumsOf(query, accountId, upTo, absorbedFrom),
    sumFaults: () => sumFaults(books),
    ...reportsOf(books),
    async last(accountId) {
      const [row] = await query("last", [accountId]);
      return Number(row?.last ?? 0);
    },
    close,
  };
}
