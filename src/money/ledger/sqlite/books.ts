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
import { type Counted, countedIn } from "../model/counted.ts";
import { broughtScopes, keyScope, storedScope } from "../model/state.ts";
import { countsOf } from "../model/window-list.ts";
import { dayOf } from "../model/windows.ts";
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
  };
}

/** Writes a ledger into a new database, in one transaction. */
export function sqliteBookTarget(database: DatabaseSync, clock: Clock): BookTarget {
  openUnit(database, { epochMs: clock.epochMs(), elapsedMs: clock.elapsedMs() });
  const tables = new AccountTables(database);
  const entries = new EntryTables(database);
  /** By stored scope and day. `last`: the number of its last posting. */
  const days = new Map<string, Counted & { readonly last: number | null }>();
  /** The last posting of each account and key, and of all. */
  const lastOf = new Map<string, number>();
  let last = 0;
  database.exec("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE");

  function add(accountId: string, counted: Counted): void {
    const scope = storedScope(accountId, counted.scope);
    const before = days.get(`${scope} ${counted.day}`) ?? { spent: 0, absorbed: 0 };
    const sums = { spent: before.spent + counted.spent, absorbed: before.absorbed + counted.absorbed };
    days.set(`${scope} ${counted.day}`, { ...counted, scope, ...sums, last: counted.isCost ? null : last });
  }

  return {
    async takePostings(postings) {
      for (const posting of postings) {
        const { accountId } = posting;
        const key = posting.keyId === null ? null : keyScope(posting.keyId);
        const [beforeOfAccount = null, beforeOfKey = null] = [lastOf.get(accountId), lastOf.get(key ?? "")];
        last = entries.insertPosting({ ...posting, beforeOfAccount, beforeOfKey });
        entries.count(posting, last, false);
        lastOf.set(accountId, last);
        if (key !== null) lastOf.set(key, last);
        if (posting.kind === "charge") for (const counted of countedIn(posting)) add(accountId, counted);
      }
      entries.flush(last);
    },
    async takeAccount({ account, clockMs, keys, idempotency, costs }) {
      const { accountId, grantedNano: granted, spentNano: spent, absorbedNano: absorbed, strictBounds } = account;
      const money = { granted, spent, absorbed, clockMs, lastPosting: lastOf.get(accountId) ?? null };
      const state = { ...newAccount(account, account.createdAtMs), ...money, frozen: account.frozen, strictBounds };
      tables.insertAccount(state);
      if (strictBounds) tables.writeOverruns(state);
      for (const key of keys) tables.insertKey(state, key);
      const put = database.prepare("INSERT INTO idempotency VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
      for (const { keyId, key, fingerprint, holdId, state: end, effect, lapsesAtMs } of idempotency)
        put.run(accountId, keyId, key, fingerprint, holdId, end, effect, lapsesAtMs);
      for (const { scope, day, nano: whole } of costs) {
        const told = days.get(`${storedScope(accountId, scope)} ${day}`)?.spent ?? 0;
        add(accountId, { scope, day, spent: Math.max(0, whole - told), absorbed: 0, isCost: true });
      }
      // Lets accounts leave memory.
      tables.flush();
    },
    async finish() {
      const put = database.prepare(
        "INSERT INTO spent_day (scope, day, spent, last_posting, absorbed) VALUES (?, ?, ?, ?, ?)",
      );
      for (const one of days.values()) put.run(one.scope, one.day, one.spent, one.last, one.absorbed);
      database.exec("COMMIT");
    },
  };
}
