// Ledger events in a table of the ledger's file, kept until they are delivered.
import type { DatabaseSync } from "node:sqlite";
import { EVENTS_KEPT_MAX, type LedgerEvent } from "../model/event.ts";

export class EventTable {
  readonly #sql: ReturnType<typeof prepare>;

  constructor(database: DatabaseSync) {
    this.#sql = prepare(database);
  }

  /** A known event stays as it is. Where none are delivered, the oldest are dropped. */
  tell({ id, kind, accountId, atMs, data }: LedgerEvent): void {
    const { lastInsertRowid, changes } = this.#sql.tell.run(id, kind, accountId, atMs, JSON.stringify(data));
    if (changes > 0) this.#sql.forget.run(Number(lastInsertRowid) - EVENTS_KEPT_MAX);
  }

  told(countMax: number): LedgerEvent[] {
    return this.#sql.told
      .all(countMax)
      .map((row) => ({
        id: String(row.id),
        kind: row.kind as LedgerEvent["kind"],
        accountId: String(row.account_id),
        atMs: Number(row.at),
        data: JSON.parse(String(row.data)) as LedgerEvent["data"],
      }));
  }

  drop(ids: readonly string[]): void {
    for (const id of ids) this.#sql.drop.run(id);
  }
}

function prepare(database: DatabaseSync) {
  return {
    // With a bare `LIMIT ?`, SQLite compiles the statement again each time it runs.
    tell: database.prepare("INSERT OR IGNORE INTO told (id, kind, account_id, at, data) VALUES (?, ?, ?, ?, ?)"),
    forget: database.prepare("DELETE FROM told WHERE seq <= ?"),
    told: database.prepare("SELECT * FROM told ORDER BY seq LIMIT ? + 0"),
    drop: database.prepare("DELETE FROM told WHERE id = ?"),
  };
}
