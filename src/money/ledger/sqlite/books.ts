// Reads and writes a whole ledger file, for a command that has exclusive access.
import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../../core/clock.ts";
import type { NumberedPosting } from "../archive/archive.ts";
import { numberedPosting, type Row } from "../archive/rows.ts";
import {
  type AccountBook,
  type BookCost,
  type BookIdempotency,
  type BookSource,
  type BookTarget,
  COST_DAYS_CARRIED,
} from "../books.ts";
import { broughtScopes, INFERENCE_SCOPE, keyScope, storedScope } from "../model/state.ts";
import { costIn, countsOf, windowList } from "../model/window-list.ts";
import { countingDay, dayOf } from "../model/windows.ts";
import { AccountTables } from "./accounts.ts";
import { accountRow, newAccount } from "./admin.ts";
import { openInquiry } from "./books-doctor.ts";
import { visit } from "./doctor-visit.ts";
import { EntryTables } from "./entries.ts";
import { type LedgerOperations, openUnit } from "./unit.ts";

const BATCH = 500;
const SWEEP_COUNT = 500;

function rows(database: DatabaseSync, sql: string, ...values: (string | number)[]): Row[] {
  return database.prepare(sql).all(...values) as unknown as Row[];
}

/** Reads the ledger in an open database. */
export function sqliteBookSource(database: DatabaseSync, clock: Clock): BookSource {
  const unit = openUnit(database, { epochMs: clock.epochMs(), elapsedMs: clock.elapsedMs() });
  const { sweep, examine } = unit.operations as Pick<LedgerOperations, "sweep" | "examine">;
  const examineBooks = openInquiry(database);

  async function* postings(): AsyncIterable<NumberedPosting[]> {
    const numbers = new Map<string, number>();
    for (let after = 0; ; ) {
      const found = rows(database, "SELECT * FROM posting WHERE seq > ? ORDER BY seq LIMIT ?", after, BATCH);
      if (found.length === 0) return;
      yield found.map((row) => {
        const accountId = String(row.account_id);
        const number = (numbers.get(accountId) ?? 0) + 1;
        numbers.set(accountId, number);
        return numberedPosting(row, number);
      });
      after = Number(found.at(-1)?.seq);
    }
  }

  async function* accounts(): AsyncIterable<AccountBook> {
    const nowMs = clock.epochMs();
    const tables = new AccountTables(database);
    for (const accountId of tables.accountIds()) {
      const state = tables.look(accountId);
      if (state === null) continue;
      const { heldNano: _, ...account } = accountRow(state);
      const idempotency = rows(
        database,
        `SELECT key_id AS keyId, idempotency_key AS "key", fingerprint, hold_id AS holdId, state, effect,
           lapses_at AS lapsesAtMs FROM idempotency WHERE account_id = ? AND lapses_at > ?`,
        ...[accountId, nowMs],
      ) as unknown as BookIdempotency[];
      const brought = broughtScopes(accountId);
      const costs = rows(
        database,
        "SELECT scope, day, spent FROM spent_day WHERE scope > ? AND scope < ? AND day >= ? ORDER BY scope, day",
        ...[brought, `${brought.slice(0, -1)};`, dayOf(state.clockMs) - COST_DAYS_CARRIED],
      )
        .map(({ scope, day, spent }): BookCost => {
          return { scope: String(scope).slice(brought.length), day: Number(day), nano: Number(spent) };
        })
        .filter(({ scope }) => countsOf(scope) !== "charge");
      yield { account, clockMs: state.clockMs, keys: [...state.keys.values()], idempotency, costs };
    }
  }

  return {
    async settle() {
      database.exec("BEGIN IMMEDIATE");
      // The gateway is down: all holds except those of jobs have dead owners.
      while (sweep({ countMax: SWEEP_COUNT, onlyOwner: "migration" }).length === SWEEP_COUNT);
      unit.catchUp?.();
      database.exec("COMMIT");
      return Number(rows(database, "SELECT COUNT(*) AS count FROM hold")[0]?.count);
    },
    postings,
    accounts,
    doctor: () => visit(examine, (asked) => examineBooks({ ...asked, file: true })),
    close: () => Promise.resolve(database.close()),
  };
}

interface Day {
  readonly scope: string;
  readonly day: number;
  spent: number;
  absorbed: number;
  last: number | null;
}

/** Writes a ledger into a new database, in one transaction. */
export function sqliteBookTarget(database: DatabaseSync, clock: Clock): BookTarget {
  openUnit(database, { epochMs: clock.epochMs(), elapsedMs: clock.elapsedMs() });
  database.exec("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE");
  /** The last posting of each account and key. */
  const lastOf = new Map<string, number>();
  let last = 0;
  const days = new Map<string, Day>();
  const accounts = new AccountTables(database);
  const entries = new EntryTables(database);
  const putIdempotency = database.prepare("INSERT INTO idempotency VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  const putDay = database.prepare(
    "INSERT INTO spent_day (scope, day, spent, last_posting, absorbed) VALUES (?, ?, ?, ?, ?)",
  );

  function take(posting: NumberedPosting): void {
    const { accountId, keyId } = posting;
    const key = keyId === null ? null : keyScope(keyId);
    const beforeOfKey = key === null ? null : (lastOf.get(key) ?? null);
    last = entries.insertPosting({ ...posting, beforeOfAccount: lastOf.get(accountId) ?? null, beforeOfKey });
    entries.count(posting, last, false);
    lastOf.set(accountId, last);
    if (key === null || posting.day === null) return;
    lastOf.set(key, last);
    const { charged, costs } = windowList(posting.windows ?? "");
    for (const ofAccount of [key, ...(posting.inference ? [INFERENCE_SCOPE] : []), ...charged.map((w) => w.scope)]) {
      const scope = storedScope(accountId, ofAccount);
      const onDay = countingDay(ofAccount, posting.day);
      const name = `${scope} ${onDay}`;
      const day = days.get(name) ?? { scope, day: onDay, spent: 0, absorbed: 0, last };
      day.spent += posting.amountNano;
      day.absorbed += posting.absorbedNano;
      day.last = last;
      days.set(name, day);
    }
    for (const window of costs) {
      const cost = costIn(window, posting.amountNano, posting.upstreamNano);
      if (cost > 0) addCost(storedScope(accountId, window.scope), posting.day, cost);
    }
  }

  function addCost(scope: string, day: number, by: number): void {
    const name = `${scope} ${day}`;
    const before = days.get(name)?.spent ?? 0;
    days.set(name, { scope, day, spent: before + by, absorbed: 0, last: null });
  }

  function takeBook({ account, clockMs, keys, idempotency, costs }: AccountBook): void {
    const { accountId, grantedNano: granted, spentNano: spent, absorbedNano: absorbed, strictBounds } = account;
    const lastPosting = lastOf.get(accountId) ?? null;
    const money = { granted, spent, absorbed, clockMs, lastPosting };
    const state = { ...newAccount(account, account.createdAtMs), ...money, frozen: account.frozen, strictBounds };
    accounts.insertAccount(state);
    if (strictBounds) accounts.writeOverruns(state);
    for (const key of keys) accounts.insertKey(state, key);
    for (const { keyId, key, fingerprint, holdId, state: end, effect, lapsesAtMs } of idempotency)
      putIdempotency.run(accountId, keyId, key, fingerprint, holdId, end, effect, lapsesAtMs);
    for (const { scope, day, nano: whole } of costs) {
      const name = storedScope(accountId, scope);
      addCost(name, day, Math.max(0, whole - (days.get(`${name} ${day}`)?.spent ?? 0)));
    }
    accounts.flush();
  }

  return {
    async takePostings(postings) {
      postings.forEach(take);
      entries.flush(last);
    },
    takeAccount: async (book) => takeBook(book),
    async finish() {
      for (const { scope, day, spent, last: of, absorbed } of days.values())
        putDay.run(scope, day, spent, of, absorbed);
      database.exec("COMMIT");
    },
    close: () => Promise.resolve(database.close()),
  };
}
