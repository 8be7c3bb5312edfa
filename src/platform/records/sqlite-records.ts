// Records in the storage thread: one table, and its operations by name. Open the thread with `RECORDS_UNIT` among its units.
import type { DatabaseSync } from "node:sqlite";
import { migrate, type SqliteUnit, type StoreTime } from "../storage/sqlite-unit.ts";
import type { SqliteThread } from "../storage/thread-client.ts";
import {
  type PutRecord,
  type RecordPage,
  type Records,
  type Share,
  type StoredRecord,
  sharedBytes,
} from "./records.ts";

/** The storage thread loads this file too. */
export const RECORDS_UNIT = new URL(import.meta.url);

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
  `
  -- What the record counts in its payer's share of its kind; null: it is in none.
  ALTER TABLE record ADD COLUMN shared INTEGER;
  -- Those without a share would have to be passed over one by one.
  CREATE INDEX record_by_share ON record (payer, kind) WHERE shared IS NOT NULL;
  CREATE TABLE share (
    payer TEXT NOT NULL,
    kind TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (payer, kind)
  ) STRICT, WITHOUT ROWID;
  CREATE TRIGGER shared_comes AFTER INSERT ON record WHEN NEW.shared IS NOT NULL BEGIN
    INSERT INTO share VALUES (NEW.payer, NEW.kind, NEW.shared)
      ON CONFLICT (payer, kind) DO UPDATE SET bytes = bytes + excluded.bytes;
  END;
  CREATE TRIGGER shared_leaves AFTER DELETE ON record WHEN OLD.shared IS NOT NULL BEGIN
    UPDATE share SET bytes = bytes - OLD.shared WHERE payer = OLD.payer AND kind = OLD.kind;
    DELETE FROM share WHERE payer = OLD.payer AND kind = OLD.kind AND bytes <= 0;
  END;
  `,
];

const COLUMNS = `kind, id, payer, version, value, created_at AS createdAtMs, expires_at AS expiresAtMs`;

type RecordsOperations = ReturnType<typeof operationsOn>;

export const schemaVersion = SCHEMA.length;

export function openUnit(database: DatabaseSync, time: StoreTime): SqliteUnit {
  migrate(database, "records", SCHEMA);
  const changed = new Set<string>();
  return {
    operations: operationsOn(prepare(database), time, changed),
    admissions: [],
    flush() {},
    committed(tell) {
      for (const accountId of changed) tell(accountId);
      changed.clear();
    },
    reload: () => changed.clear(),
  };
}

/** An account's rules, by its id: callers cached by other processes depend on them, so all processes learn of each put. */
const RULES_KIND = "rules";
/** Runs: all processes learn of a changed budget and of a stop. */
const RUN_KIND = "run";

/** How many of a share's records to check at a time, oldest first. */
const SHARED_AT_ONCE = 64;

function operationsOn(sql: ReturnType<typeof prepare>, time: StoreTime, changed: Set<string>) {
  /** Makes room in a share, expired records first; false if there is no room to make. */
  function makeRoom(wanted: { kind: string; payer: string | null; bytes: number; share: Share }): boolean {
    const { kind, payer, bytes, share } = wanted;
    let used = Number(sql.shared.get(payer, kind)?.bytes ?? 0);
    const fits = () => used + bytes <= share.bytesMax;
    while (!fits() && bytes <= share.bytesMax) {
      const oldest = sql.oldestShared.all(payer, kind, SHARED_AT_ONCE);
      for (const row of oldest) {
        if (fits()) break;
        if (share.full === "newest_stays_out" && Number(row.expiresAtMs) > time.epochMs) return false;
        sql.deleteRow.run(row.seq ?? null);
        used -= Number(row.shared);
      }
      if (oldest.length === 0) break;
    }
    return fits();
  }

  return {
    get: ({ kind, id }: { kind: string; id: string }) =>
      (sql.get.get(kind, id, time.epochMs) as unknown as StoredRecord | undefined) ?? null,

    sizes({ kind, ids }: { kind: string; ids: readonly string[] }): (number | null)[] {
      const rows = ids.map((id) => sql.size.get(kind, id, time.epochMs));
      return rows.map((row) => (row === undefined ? null : Number(row.bytes)));
    },

    put({ kind, id, payer, value, ttlMs, ifVersion, share }: PutRecord): number | null {
      const nowMs = time.epochMs;
      sql.deleteExpired.run(kind, id, nowMs);
      const stored = Number(sql.version.get(kind, id)?.version ?? 0);
      if (ifVersion !== null && ifVersion !== stored) return null;
      const bytes = share === undefined || stored > 0 ? null : sharedBytes(value);
      if (share !== undefined && bytes !== null && !makeRoom({ kind, payer, bytes, share })) return null;
      sql.put.run(kind, id, payer, value, nowMs, ttlMs === null ? null : nowMs + ttlMs, bytes);
      if (kind === RULES_KIND) changed.add(id);
      // Its id begins with its account's.
      if (kind === RUN_KIND && stored > 0) changed.add(id.slice(0, id.indexOf(" ")));
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
  // `LIMIT ? + 0`: SQLite compiles a statement with a bare `LIMIT ?` again each time it runs.
  return {
    get: database.prepare(`SELECT ${COLUMNS} FROM record WHERE kind = ? AND id = ? AND ${live}`),
    size: database.prepare(`SELECT octet_length(value) AS bytes FROM record WHERE kind = ? AND id = ? AND ${live}`),
    version: database.prepare("SELECT version FROM record WHERE kind = ? AND id = ?"),
    deleteExpired: database.prepare("DELETE FROM record WHERE kind = ? AND id = ? AND expires_at <= ?"),
    put: database.prepare(
      `INSERT INTO record (kind, id, payer, version, value, created_at, expires_at, shared) VALUES (?, ?, ?, 1, ?, ?, ?, ?)
         ON CONFLICT (kind, id) DO UPDATE SET payer = excluded.payer, version = version + 1, value = excluded.value,
           expires_at = excluded.expires_at`,
    ),
    delete: database.prepare("DELETE FROM record WHERE kind = ? AND id = ?"),
    deleteRow: database.prepare("DELETE FROM record WHERE seq = ?"),
    shared: database.prepare("SELECT bytes FROM share WHERE payer = ? AND kind = ?"),
    oldestShared: database.prepare(
      `SELECT seq, shared, expires_at AS expiresAtMs FROM record INDEXED BY record_by_share
         WHERE payer = ? AND kind = ? AND shared IS NOT NULL ORDER BY seq LIMIT ?`,
    ),
    list: database.prepare(
      `SELECT seq, ${COLUMNS} FROM record
         WHERE payer = ? AND kind = ? AND shared IS NULL AND seq < ? AND ${live} ORDER BY seq DESC LIMIT ? + 0`,
    ),
    sweep: database.prepare(
      "DELETE FROM record WHERE seq IN (SELECT seq FROM record WHERE expires_at <= ? ORDER BY expires_at LIMIT ? + 0)",
    ),
  };
}

const PATIENT = { isPatient: true } as const;

/** The records in `thread`, whose units must have `records: RECORDS_UNIT`. Every call resolves after its commit. */
export function sqliteRecords(thread: SqliteThread): Records {
  const call = thread.unit<RecordsOperations>("records");
  return {
    get: (kind, id) => call("get", { kind, id }),
    sizes: (kind, ids) => call("sizes", { kind, ids }),
    put: ({ isPatient, ...record }) => call("put", record, isPatient === true ? PATIENT : undefined),
    delete: (kind, id) => call("delete", { kind, id }),
    list: (kind, payer, limit, cursor) => call("list", { kind, payer, limit, cursor }),
    sweep: (countMax) => call("sweep", countMax),
  };
}
