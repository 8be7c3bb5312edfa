// The archive in its storage thread: its SQLite table, and its operations by name.
import { randomUUID } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import type { Value } from "../../../platform/storage/reading-thread.ts";
import { migrate, type SqliteUnit } from "../../../platform/storage/sqlite-unit.ts";
import { ARCHIVE_TABLES, SQLITE_RUN_COLUMN, sqliteSums } from "../usage/sums.ts";
import { conflictText, QUERIES, type QueryName } from "./queries.ts";
import { ADDED, type ArchiveRow, COLUMN_NAMES, COLUMNS, type Column, type Row } from "./rows.ts";

const columnOf = (name: Column) => `${name} ${COLUMNS[name].replace("bigint", "integer")}`;
const columns = COLUMN_NAMES.filter((name) => !ADDED.includes(name)).map(columnOf);
const addition = (name: Column) => `ALTER TABLE tollgate_posting ADD COLUMN ${columnOf(name)}`;

/** Each step runs once, in order; append steps, never change them. */
const SCHEMA = [
  `
  CREATE TABLE tollgate_posting (${columns.join(", ")}, PRIMARY KEY (account_id, number), UNIQUE (transaction_id)) STRICT;
  CREATE INDEX tollgate_posting_by_key ON tollgate_posting (account_id, key_id, number) WHERE key_id IS NOT NULL;
  CREATE TABLE tollgate_archive (id TEXT NOT NULL) STRICT;
  `,
  addition("legs"),
  `
  ${addition("tags")};
  CREATE INDEX tollgate_posting_by_time ON tollgate_posting (created_at, account_id, number);
  ${sqliteSums(ARCHIVE_TABLES)}
  `,
  addition("windows"),
  `
  ALTER TABLE tollgate_posting ADD COLUMN ${SQLITE_RUN_COLUMN};
  CREATE INDEX tollgate_posting_by_run ON tollgate_posting (account_id, run_id, number) WHERE run_id IS NOT NULL;
  `,
];

export type ArchiveOperations = ReturnType<typeof operationsOn>;

/** Opens the archive in the storage thread's database. Caches nothing: other processes write here too. */
export function openUnit(database: DatabaseSync): SqliteUnit {
  migrate(database, "archive", SCHEMA);
  if (database.prepare("SELECT id FROM tollgate_archive").get() === undefined) {
    database.prepare("INSERT INTO tollgate_archive VALUES (?)").run(randomUUID());
  }
  return { operations: operationsOn(database), admissions: ["append"], flush() {}, reload() {} };
}

function operationsOn(database: DatabaseSync) {
  const queries = new Map(
    Object.entries(QUERIES).map(([name, text]) => [name, database.prepare(text.replaceAll("$", "?"))]),
  );
  const same = database.prepare(
    "SELECT account_id, number, transaction_id FROM tollgate_posting WHERE transaction_id = ? OR (account_id = ? AND number = ?)",
  );
  const places = COLUMN_NAMES.map(() => "?").join(", ");
  const insert = database.prepare(`INSERT INTO tollgate_posting (${COLUMN_NAMES.join(", ")}) VALUES (${places})`);
  return {
    id: (_: null): string => String(database.prepare("SELECT id FROM tollgate_archive").get()?.id),

    query: ({ name, parameters }: { name: QueryName; parameters: readonly Value[] }) =>
      (queries.get(name)?.all(...parameters) ?? []) as unknown as Row[],

    append(rows: readonly ArchiveRow[]): string | null {
      const fresh: ArchiveRow[] = [];
      for (const row of rows) {
        const there = same.all(row.transaction_id, row.account_id, row.number) as unknown as Row[];
        const other = there.find(
          (one) =>
            one.transaction_id !== row.transaction_id || one.account_id !== row.account_id || one.number !== row.number,
        );
        if (other !== undefined) return conflictText(row, other);
        if (there.length === 0) fresh.push(row);
      }
      for (const row of fresh) insert.run(...COLUMN_NAMES.map((name) => row[name]));
      return null;
    },
  };
}
