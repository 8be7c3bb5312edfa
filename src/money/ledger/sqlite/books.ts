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
    close: () => Promise.resolve(database.close()),
  };
}

interface Day {
  readonly scope: string;
  readonly day: number;
  readonly spent: number;
  readonly absorbed: number;
  readonly last: number | null;
}

/** Writes a ledger into a new database, in one transaction. */
class SqliteBookTarget implements BookTarget {
  readonly #database: DatabaseSync;
  readonly #accounts: AccountTables;
  readonly #entries: EntryTables;
  readonly #days = new Map<string, Day>();
  /** The last posting of each account and key, and of all. */
  readonly #lastOf = new Map<string, number>();
  #last = 0;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#accounts = new AccountTables(database);
    this.#entries = new EntryTables(database);
    database.exec("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE");
  }

  async takePostings(postings: readonly NumberedPosting[]): Promise<void> {
    for (const posting of postings) {
      const { accountId } = posting;
      const key = posting.keyId === null ? null : keyScope(posting.keyId);
      const [beforeOfAccount = null, beforeOfKey = null] = [this.#lastOf.get(accountId), this.#lastOf.get(key ?? "")];
      this.#last = this.#entries.insertPosting({ ...posting, beforeOfAccount, beforeOfKey });
      this.#entries.count(posting, this.#last, false);
      this.#lastOf.set(accountId, this.#last);
      if (key !== null) this.#lastOf.set(key, this.#last);
      if (posting.kind === "charge") for (const counted of countedIn(posting)) this.#add(accountId, counted);
    }
    this.#entries.flush(this.#last);
  }

  #add(accountId: string, { scope: name, day, spent, absorbed, isCost }: Counted): void {
    const scope = storedScope(accountId, name);
    const before = this.#days.get(`${scope} ${day}`) ?? { spent: 0, absorbed: 0 };
    const sums = { spent: before.spent + spent, absorbed: before.absorbed + absorbed };
    this.#days.set(`${scope} ${day}`, { scope, day, ...sums, last: isCost ? null : this.#last });
  }

  async takeAccount({ account, clockMs, keys, idempotency, costs }: AccountBook): Promise<void> {
    const { accountId, grantedNano: granted, spentNano: spent, absorbedNano: absorbed, strictBounds } = account;
    const money = { granted, spent, absorbed, clockMs, lastPosting: this.#lastOf.get(accountId) ?? null };
    const state = { ...newAccount(account, account.createdAtMs), ...money, frozen: account.frozen, strictBounds };
    this.#accounts.insertAccount(state);
    if (strictBounds) this.#accounts.writeOverruns(state);
    for (const key of keys) this.#accounts.insertKey(state, key);
    const put = this.#database.prepare("INSERT INTO idempotency VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    for (const { keyId, key, fingerprint, holdId, state: end, effect, lapsesAtMs } of idempotency)
      put.run(accountId, keyId, key, fingerprint, holdId, end, effect, lapsesAtMs);
    for (const { scope, day, nano: whole } of costs) {
      const told = this.#days.get(`${storedScope(accountId, scope)} ${day}`)?.spent ?? 0;
      this.#add(accountId, { scope, day, spent: Math.max(0, whole - told), absorbed: 0, isCost: true });
    }
    // Lets accounts leave memory.
    this.#accounts.flush();
  }

  async finish(): Promise<void> {
    const put = this.#database.prepare(
      "INSERT INTO spent_day (scope, day, spent, last_posting, absorbed) VALUES (?, ?, ?, ?, ?)",
    );
    for (const { scope, day, spent, last, absorbed } of this.#days.values()) put.run(scope, day, spent, last, absorbed);
    this.#database.exec("COMMIT");
  }

  async close(): Promise<void> {
    this.#database.close();
  }
}

export function sqliteBookTarget(database: DatabaseSync, clock: Clock): BookTarget {
  openUnit(database, { epochMs: clock.epochMs(), elapsedMs: clock.elapsedMs() });
  return new SqliteBookTarget(database);
}
