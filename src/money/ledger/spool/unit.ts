// The spool in its own storage thread: how calls ended, each kept until the store has said so, and for a while after.
import type { DatabaseSync } from "node:sqlite";
import { migrate, type SqliteUnit, type StoreTime } from "../../../platform/storage/sqlite-unit.ts";
import { type Intent, intentIn } from "./intent.ts";

export interface StoredIntent {
  readonly seq: number;
  readonly intent: Intent;
  readonly madeAtMs: number;
  /** What the store has said; null: nothing yet. */
  readonly outcome: string | null;
}

/** Which intents to read: a page in the order in which they were made. */
export interface SpoolPage {
  /** The intent beyond which to begin; 0: at the first, or with `endedWithinMs` at the last. */
  readonly beyond: number;
  readonly limit: number;
  /**
   * `open`: those that the store has not answered; `alone`: those that it alone may know; `endedWithinMs`: these, and those that
   * it has answered lately, the latest page first.
   */
  readonly which: "open" | "alone" | "all" | { readonly endedWithinMs: number };
}

export interface Ending {
  readonly seq: number;
  readonly outcome: string;
  /** No replica is known to have what the store has said. */
  readonly isAlone: boolean;
}

export interface EndRequest {
  readonly endings: readonly Ending[];
  readonly keepMs: number;
  readonly keptMax: number;
}

export type SpoolOperations = ReturnType<typeof operationsOn>;

const SCHEMA: readonly string[] = [
  `
  CREATE TABLE intent (
    seq INTEGER PRIMARY KEY,
    body TEXT NOT NULL,
    made_at INTEGER NOT NULL,
    ended_at INTEGER,
    outcome TEXT
  ) STRICT;
  CREATE INDEX intent_open ON intent (seq) WHERE ended_at IS NULL;
  CREATE INDEX intent_ended ON intent (ended_at) WHERE ended_at IS NOT NULL;
  `,
];
/** When an intent that is on no replica was answered: later than any time, so that it always counts as answered lately. */
const ALONE_MS = 2 ** 52;
/** Rows removed for each one that ends: more than come in, so that what has piled up goes away. */
const PRUNED_PER_ENDING = 4;

/** Opens the spool in the storage thread's database. */
export function openUnit(database: DatabaseSync, time: StoreTime): SqliteUnit {
  migrate(database, "spool", SCHEMA);
  const spool = operationsOn(database, time);
  // New work is refused while the disk is nearly full, though nothing is written for it yet: its end will be.
  return { operations: spool, admissions: ["probe"], flush() {}, reload: () => spool.recount(null) };
}

function operationsOn(database: DatabaseSync, time: StoreTime) {
  const insert = database.prepare("INSERT INTO intent (seq, body, made_at) VALUES (?, ?, ?)");
  const end = database.prepare("UPDATE intent SET ended_at = ?, outcome = ? WHERE seq = ?");
  const prune = database.prepare(`
    DELETE FROM intent WHERE seq IN (
      SELECT seq FROM intent WHERE ended_at IS NOT NULL AND ended_at < ? ORDER BY ended_at LIMIT ?)`);
  const bounds = database.prepare("SELECT coalesce(max(seq), 0) AS last, count(*) AS kept FROM intent");
  const columns = "SELECT seq, body, made_at, outcome FROM intent WHERE";
  const all = database.prepare(`${columns} seq > ? ORDER BY seq LIMIT ?`);
  const open = database.prepare(`${columns} seq > ? AND ended_at IS NULL ORDER BY seq LIMIT ?`);
  const alone = database.prepare(`${columns} seq > ? AND ended_at = ${ALONE_MS} ORDER BY seq LIMIT ?`);
  const ended = database.prepare(`${columns} seq < ? AND ended_at >= ? ORDER BY seq DESC LIMIT ?`);
  let last = 0;
  let kept = 0;

  function recount(_: null): void {
    const row = bounds.get();
    // A number that was rolled back is not given again: its caller may have been told.
    last = Math.max(last, Number(row?.last));
    kept = Number(row?.kept);
  }
  recount(null);

  return {
    recount,
    /** `body` is the intent as text, so that only one side has to write it. */
    append(body: string): { seq: number; madeAtMs: number } {
      const madeAtMs = Math.floor(time.epochMs);
      insert.run(++last, body, madeAtMs);
      kept++;
      return { seq: last, madeAtMs };
    },
    /**
     * Notes what the store has said, and forgets what it said long ago; beyond `keptMax` what it said longest ago, and what
     * is on no replica last.
     */
    end({ endings, keepMs, keptMax }: EndRequest): null {
      const nowMs = Math.floor(time.epochMs);
      for (const { seq, outcome, isAlone } of endings) end.run(isAlone ? ALONE_MS : nowMs, outcome, seq);
      const most = endings.length * PRUNED_PER_ENDING;
      kept -= Number(prune.run(nowMs - keepMs, most).changes);
      if (kept > keptMax) kept -= Number(prune.run(ALONE_MS + 1, Math.min(most, kept - keptMax)).changes);
      return null;
    },
    page({ beyond, limit, which }: SpoolPage): StoredIntent[] {
      const rows =
        which === "all"
          ? all.all(beyond, limit)
          : typeof which === "string"
            ? (which === "open" ? open : alone).all(beyond, limit)
            : ended.all(beyond || last + 1, Math.floor(time.epochMs) - which.endedWithinMs, limit).reverse();
      return rows.map(({ seq, body, made_at, outcome }) => ({
        seq: Number(seq),
        intent: intentIn(String(body)),
        madeAtMs: Number(made_at),
        outcome: outcome === null ? null : String(outcome),
      }));
    },
    probe: (_: null): null => null,
  };
}
