// Records in the storage thread: one table, and its operations by name.
import type { DatabaseSync } from "node:sqlite";
import { migrate, type SqliteUnit, type StoreTime } from "../storage/sqlite-unit.ts";
import type { PutRecord, RecordPage, StoredRecord } from "./records.ts";

const SCHEMA = [
  `
  CREATE TABLE record (
    seq INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    payer TEXT,
    version INTEGER NOT NULL,
    value TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    UNIQUE (kind, id)
  ) STRICT;
  CREATE INDEX record_by_payer ON record (payer, kind) WHERE payer IS NOT NULL;
  CREATE INDEX record_by_expiry ON record (expires_at) WHERE expires_at IS NOT NULL;
  `,
];

const COLUMNS = `kind, id, payer, version, value, created_at AS createdAtMs, expires_at AS expiresAtMs`;

export type RecordsOperations = ReturnType<typeof operationsOn>;

/** Opens the records in the storage thread's database. */
export function openUnit(database: DatabaseSync, time: StoreTime): SqliteUnit {
  migrate(database, "records", SCHEMA);
  return { operations: operationsOn(prepare(database), time), admissions: [], flush() {}, reload() {} };
}

function operationsOn(sql: ReturnType<typeof prepare>, time: StoreTime) {
  return {
    get: ({ kind, id }: { kind: string; id: string }) =>
      (sql.get.get(kind, id, time.epochMs) as unknown as StoredRecord | undefined) ?? null,

    put({ kind, id, payer, value, ttlMs, ifVersion }: PutRecord): number | null {
      const nowMs = time.epochMs;
      sql.deleteExpired.run(kind, id, nowMs);
      const stored = Number(sql.version.get(kind, id)?.version ?? 0);
      if (ifVersion !== null && ifVersion !== stored) return null;
      sql.put.run(kind, id, payer, value, nowMs, ttlMs === null ? null : nowMs + ttlMs);
      return stored + 1;
    },

    delete({ kind, id }: { kind: string; id: string }): boolean {
      sql.deleteExpired.run(kind, id, time.epochMs);
      return sql.delete.run(kind, id).changes > 0;
    },

    list({ kind, payer, limit, cursor }: { kind: string; payer: string; limit: number; cursor: string | null }) {
      const before = cursor === null ? Number.MAX_SAFE_INTEGER : Number(cursor);
      const found = sql.list.all(payer, kind, before, time.epochMs, limit + 1);
      const shown = found.slice(0, limit) as unknown as (StoredRecord & { readonly seq: number })[];
      const next = found.length > limit ? String(shown.at(-1)?.seq) : null;
      return { rows: shown.map(({ seq: _, ...row }) => row), next } satisfies RecordPage;
    },

    sweep: (countMax: number) => Number(sql.sweep.run(time.epochMs, countMax).changes),
  };
}

function prepare(database: DatabaseSync) {
  const live = "(expires_at IS NULL OR expires_at > ?)";
  return {
    get: database.prepare(`SELECT ${COLUMNS} FROM record WHERE kind = ? AND id = ? AND ${live}`),
    version: database.prepare("SELECT version FROM record WHERE kind = ? AND id = ?"),
    deleteExpired: database.prepare("DELETE FROM record WHERE kind = ? AND id = ? AND expires_at <= ?"),
    put: database.prepare(
      `INSERT INTO record (kind, id, payer, version, value, created_at, expires_at) VALUES (?, ?, ?, 1, ?, ?, ?)
         ON CONFLICT (kind, id) DO UPDATE SET payer = excluded.payer, version = version + 1, value = excluded.value,
           expires_at = excluded.expires_at`,
    ),
    delete: database.prepare("DELETE FROM record WHERE kind = ? AND id = ?"),
    list: database.prepare(
      `SELECT seq, ${COLUMNS} FROM record WHERE payer = ? AND kind = ? AND seq < ? AND ${live} ORDER BY seq DESC LIMIT ?`,
    ),
    sweep: database.prepare(
      "DELETE FROM record WHERE seq IN (SELECT seq FROM record WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)",
    ),
  };
}
