// The spool in its storage thread: ends of calls, kept until the store has answered and for a while after.
import type { DatabaseSync } from "node:sqlite";
import { migrate, type SqliteUnit, type StoreTime } from "../../../platform/storage/sqlite-unit.ts";
import { type Intent, intentIn } from "./intent.ts";

export interface StoredIntent {
  readonly seq: number;
  readonly intent: Intent;
  readonly madeAtMs: number;
  /** The store's answer; null before it comes. */
  readonly outcome: string | null;
}

/** A page of intents, in the order in which they were made. */
export interface SpoolPage {
  /** Start after this intent; 0 starts at the first, or with `endedWithinMs` at the last. */
  readonly beyond: number;
  readonly limit: number;
  /** `open`: unanswered; `alone`: known to no replica; `endedWithinMs`: these and recently answered ones, newest page first. */
  readonly which: "open" | "alone" | "all" | { readonly endedWithinMs: number };
}

export interface Ending {
  readonly seq: number;
  readonly outcome: string;
  /** No replica is known to have the store's answer. */
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
/** The answer time of an unreplicated intent: later than any real time, so that it always counts as recent. */
const ALONE_MS = 2 ** 52;
/** Rows pruned per ended intent: more than arrive, so that a backlog shrinks. */
const PRUNED_PER_ENDING = 4;

export const schemaVersion = SCHEMA.length;

export function openUnit(database: DatabaseSync, time: StoreTime): SqliteUnit {
  migrate(database, "spool", SCHEMA);
  const spool = operationsOn(database, time);
  // Refuse new work while the disk is nearly full: nothing is written for it yet, but its end will be.
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
    // Never reuse a rolled-back number: its caller may have seen it.
    last = Math.max(last, Number(row?.last));
    kept = Number(row?.kept);
  }
  recount(null);

  return {
    recount,
    /** `body` is the intent as text, so that only one side serializes. */
    append(body: string): { seq: number; madeAtMs: number } {
      const madeAtMs = Math.floor(time.epochMs);
      insert.run(++last, body, madeAtMs);
      kept++;
      return { seq: last, madeAtMs };
    },
    /** Records the store's answers and prunes old ones; beyond `keptMax` the oldest answered first, unreplicated ones last. */
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
