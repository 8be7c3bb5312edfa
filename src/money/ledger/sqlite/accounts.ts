// Accounts, keys and days in memory: loaded when first used, written back some hundred postings at a time.
import type { DatabaseSync } from "node:sqlite";
import {
  type AccountState,
  type DayState,
  dayIn,
  type KeyState,
  type LiveHold,
  type ScopeState,
  storedScope,
} from "../model/state.ts";
import { countingDay, periodStart, runOfScope } from "../model/windows.ts";

/** Accounts kept in memory beside those with live holds; the least recently used are evicted, and reloaded on use. */
const ACCOUNTS_MAX = 20_000;
/** Accounts evicted at once; takes a few milliseconds. */
const LEAVING = ACCOUNTS_MAX / 16;
/** Ids read at once by a scan of all accounts. */
const IDS_AT_ONCE = 500;
/** `last_used_at` is informational: a key's row is not written for every call. */
const LAST_USED_STEP_MS = 60_000;

const ACCOUNT_COLUMNS = `account_id AS accountId, kind, created_at AS createdAtMs, name, frozen,
  inference_cap AS inferenceCapNano, requests_per_minute AS requestsPerMinute, in_flight_max AS inFlightMax,
  granted, spent, absorbed, clock AS clockMs, last_posting AS lastPosting,
  strict_bounds AS strictBounds, overruns, overrun_day AS overrunDay`;

/** Booleans are stored as 0 and 1. */
interface AccountSql
  extends Omit<AccountState, "frozen" | "strictBounds" | "held" | "keys" | "holds" | "scopes" | "slots" | "isInUse"> {
  readonly frozen: number;
  readonly strictBounds: number;
}

const KEY_COLUMNS = `key_id AS keyId, account_id AS accountId, is_primary AS "primary", external_id AS externalId,
  created_at AS createdAtMs, secret_hash AS secretHash, hint, label, paused, ceiling AS ceilingNano,
  ceiling_period AS ceilingPeriod, last_used_at AS lastUsedAtMs, services, models, expires_at AS expiresAtMs`;

/** Lists are stored as JSON. */
interface KeySql extends Omit<KeyState, "primary" | "paused" | "services" | "models"> {
  readonly primary: number;
  readonly paused: number;
  readonly services: string | null;
  readonly models: string | null;
}

function accountState(row: AccountSql): AccountState {
  const live = {
    held: 0,
    keys: new Map(),
    holds: new Set<LiveHold>(),
    scopes: new Map(),
    slots: new Map(),
    isInUse: true,
  };
  return { ...row, frozen: row.frozen === 1, strictBounds: row.strictBounds === 1, ...live };
}

function listText(list: readonly string[] | null): string | null {
  return list === null ? null : JSON.stringify(list);
}

function listOf(text: string | null): readonly string[] | null {
  return text === null ? null : (JSON.parse(text) as string[]);
}

function keyState(row: KeySql): KeyState {
  const lists = { services: listOf(row.services), models: listOf(row.models) };
  return { ...row, primary: row.primary === 1, paused: row.paused === 1, ...lists };
}

export class AccountTables {
  readonly #accounts = new Map<string, AccountState>();
  readonly #keysByHash = new Map<string, KeyState>();
  readonly #changedAccounts = new Set<AccountState>();
  readonly #changedKeys = new Set<KeyState>();
  readonly #changedDays = new Set<DayState>();
  /** Something changed that no posting tells, so that it must be written with its commit. */
  #mustWrite = false;
  readonly #sql: ReturnType<typeof prepare>;

  constructor(database: DatabaseSync) {
    this.#sql = prepare(database);
  }

  account(accountId: string): AccountState | null {
    const known = this.#accounts.get(accountId);
    if (known !== undefined) {
      known.isInUse = true;
      return known;
    }
    const account = this.#read(accountId);
    if (account === null) return null;
    for (const key of account.keys.values()) this.#keysByHash.set(key.secretHash, key);
    this.#accounts.set(accountId, account);
    return account;
  }

  /** Reads an account for a scan of all accounts, without evicting accounts in use. Read only. */
  look(accountId: string): AccountState | null {
    return this.#accounts.get(accountId) ?? this.#read(accountId);
  }

  #read(accountId: string): AccountState | null {
    const row = this.#sql.account.get(accountId) as unknown as AccountSql | undefined;
    if (row === undefined) return null;
    const account = accountState(row);
    for (const keyRow of this.#sql.keys.all(accountId)) {
      const key = keyState(keyRow as unknown as KeySql);
      account.keys.set(key.keyId, key);
    }
    return account;
  }

  /** Reads a few at a time: there may be millions, and other work runs in between. */
  *accountIds(): Generator<string> {
    for (let after = ""; ; ) {
      const ids = this.idsAfter(after, IDS_AT_ONCE);
      yield* ids;
      const last = ids.at(-1);
      if (last === undefined) return;
      after = last;
    }
  }

  /** The accounts in memory. */
  idsInMemory(): string[] {
    return [...this.#accounts.keys()];
  }

  /** An account for a reader, if it is still in memory. */
  inMemory(accountId: string): AccountState | null {
    return this.#accounts.get(accountId) ?? null;
  }

  idsAfter(accountId: string, limit: number): string[] {
    return this.#sql.accountIds.all(accountId, limit).map((row) => String(row.account_id));
  }

  key(secretHash: string): KeyState | null {
    const known = this.#keysByHash.get(secretHash);
    if (known !== undefined) return known;
    const owner = this.#sql.keyOwner.get(secretHash);
    if (owner === undefined) return null;
    this.account(String(owner.account_id));
    return this.#keysByHash.get(secretHash) ?? null;
  }

  /** A scope of the account with all its days from the start of `day`'s month and week. */
  scope(account: AccountState, ofAccount: string, day: number): ScopeState {
    const counting = countingDay(ofAccount, day);
    const from = Math.min(periodStart("month", counting), periodStart("week", counting));
    let scope = account.scopes.get(ofAccount);
    if (scope === undefined) {
      scope = {
        name: storedScope(account.accountId, ofAccount),
        days: new Map(),
        loadedFrom: Number.MAX_SAFE_INTEGER,
        lastPosting: undefined,
      };
      account.scopes.set(ofAccount, scope);
    }

    if (from < scope.loadedFrom) {
      for (const row of this.#sql.days.all(scope.name, from, scope.loadedFrom)) {
        const loaded = row as unknown as Omit<DayState, "of" | "held">;
        scope.days.set(loaded.day, { of: scope, ...loaded, held: 0 });
      }
      scope.loadedFrom = from;
    }
    return scope;
  }

  /** The same for a reader. Readers may name any scope, so one that was not in memory does not stay there. */
  lookScope(account: AccountState, ofAccount: string, day: number): ScopeState {
    const wasInMemory = account.scopes.has(ofAccount);
    const scope = this.scope(account, ofAccount, day);
    if (!wasInMemory) account.scopes.delete(ofAccount);
    return scope;
  }

  day(account: AccountState, name: string, onDay: number): DayState {
    const day = countingDay(name, onDay);
    return dayIn(this.scope(account, name, day), day);
  }

  /** The number of the last posting counted in a scope. */
  lastPosting(scope: ScopeState): number | null {
    if (scope.lastPosting === undefined) {
      const { last } = this.#sql.lastPosting.get(scope.name) as unknown as { last: number | null };
      scope.lastPosting = last;
    }
    return scope.lastPosting;
  }

  insertAccount(account: AccountState): void {
    const { accountId, name, kind, createdAtMs, frozen, inferenceCapNano, requestsPerMinute, inFlightMax } = account;
    this.#sql.insertAccount.run(
      ...[accountId, name, kind, createdAtMs, frozen ? 1 : 0, inferenceCapNano, requestsPerMinute, inFlightMax],
      ...[account.granted, account.spent, account.absorbed, account.clockMs, account.lastPosting],
    );
    this.#accounts.set(accountId, account);
  }

  insertKey(account: AccountState, key: KeyState): void {
    this.#sql.insertKey.run(
      ...[key.keyId, key.accountId, key.primary ? 1 : 0, key.secretHash, key.hint, key.label, key.externalId],
      ...[key.paused ? 1 : 0, key.ceilingNano, key.ceilingPeriod, key.createdAtMs, key.lastUsedAtMs],
      ...[listText(key.services), listText(key.models), key.expiresAtMs],
    );
    account.keys.set(key.keyId, key);
    this.#keysByHash.set(key.secretHash, key);
  }

  deleteKey(account: AccountState, key: KeyState): void {
    this.#sql.deleteKey.run(key.keyId);
    account.keys.delete(key.keyId);
    this.#keysByHash.delete(key.secretHash);
    this.#changedKeys.delete(key);
  }

  rotateKey(key: KeyState, secretHash: string, hint: string): void {
    this.#keysByHash.delete(key.secretHash);
    key.secretHash = secretHash;
    key.hint = hint;
    this.#keysByHash.set(secretHash, key);
    this.changedKey(key);
  }

  changed(account: AccountState): void {
    this.#changedAccounts.add(account);
  }

  /** Writes an account's settings. Its money is written by `flush`. */
  writeProfile(account: AccountState): void {
    const { name, frozen, inferenceCapNano, requestsPerMinute, inFlightMax, accountId } = account;
    this.#sql.writeProfile.run(name, frozen ? 1 : 0, inferenceCapNano, requestsPerMinute, inFlightMax, accountId);
  }

  /** Writes the account's overruns and strict bounds. */
  writeOverruns({ strictBounds, overruns, overrunDay, accountId }: AccountState): void {
    this.#sql.writeOverruns.run(strictBounds ? 1 : 0, overruns, overrunDay, accountId);
  }

  count(day: DayState, posting: { charged: number; absorbed: number; number: number }): void {
    day.spent += posting.charged;
    day.absorbed += posting.absorbed;
    day.lastPosting = posting.number;
    day.of.lastPosting = posting.number;
    this.#changedDays.add(day);
  }

  /** Adds unpaid cost or margin to a day. `isPosted`: a posting tells it. */
  countCost(day: DayState, by: number, isPosted: boolean): void {
    day.spent += by;
    this.#changedDays.add(day);
    if (!isPosted) this.#mustWrite = true;
  }

  changedKey(key: KeyState): void {
    this.#changedKeys.add(key);
    this.#mustWrite = true;
  }

  used(key: KeyState, nowMs: number): void {
    if (key.lastUsedAtMs !== null && nowMs - key.lastUsedAtMs < LAST_USED_STEP_MS) return;
    // The event of the first use is in this commit.
    if (key.lastUsedAtMs === null) this.#mustWrite = true;
    key.lastUsedAtMs = nowMs;
    this.#changedKeys.add(key);
  }

  /** True if changes must be written with this commit, or accounts must leave memory. */
  get mustFlush(): boolean {
    return this.#mustWrite || this.#accounts.size > ACCOUNTS_MAX;
  }

  /** Writes all changes; a row changed by a hundred operations is written once. */
  flush(): void {
    for (const { granted, spent, absorbed, clockMs, lastPosting, accountId } of this.#changedAccounts) {
      this.#sql.writeAccount.run(granted, spent, absorbed, clockMs, lastPosting, accountId);
    }
    for (const { of, day, spent, absorbed, lastPosting } of this.#changedDays) {
      this.#sql.writeDay.run(of.name, day, spent, absorbed, lastPosting);
    }
    for (const key of this.#changedKeys) this.#writeKey(key);
    for (const account of this.#changedAccounts) this.#forgetRuns(account);
    this.#forgetChanges();
    if (this.#accounts.size > ACCOUNTS_MAX) this.#evict();
  }

  /** An account may have any number of runs: those without live holds leave memory, once their sums are written. */
  #forgetRuns({ scopes, holds }: AccountState): void {
    const inUse = new Set([...holds].flatMap(({ days }) => days.map(({ of }) => of)));
    for (const [name, scope] of scopes) if (runOfScope(name) !== null && !inUse.has(scope)) scopes.delete(name);
  }

  #writeKey(key: KeyState): void {
    this.#sql.writeKey.run(
      ...[key.secretHash, key.hint, key.label, key.paused ? 1 : 0, key.ceilingNano, key.ceilingPeriod],
      ...[key.lastUsedAtMs, listText(key.services), listText(key.models), key.expiresAtMs, key.keyId],
    );
  }

  /** Moves accounts used since the last eviction to the end of the queue; evicts the others, unless they have live holds. */
  #evict(): void {
    const most = ACCOUNTS_MAX - LEAVING;
    for (const account of this.#accounts.values()) {
      if (this.#accounts.size <= most) return;
      if (account.holds.size > 0) continue;
      this.#accounts.delete(account.accountId);
      if (account.isInUse) {
        account.isInUse = false;
        this.#accounts.set(account.accountId, account);
      } else for (const key of account.keys.values()) this.#keysByHash.delete(key.secretHash);
    }
  }

  /** Drops all cached state; the database is the truth. */
  clear(): void {
    this.#accounts.clear();
    this.#keysByHash.clear();
    this.#forgetChanges();
  }

  #forgetChanges(): void {
    this.#changedAccounts.clear();
    this.#changedKeys.clear();
    this.#changedDays.clear();
    this.#mustWrite = false;
  }
}

function prepare(database: DatabaseSync) {
  return {
    account: database.prepare(`SELECT ${ACCOUNT_COLUMNS} FROM account WHERE account_id = ?`),
    accountIds: database.prepare("SELECT account_id FROM account WHERE account_id > ? ORDER BY account_id LIMIT ?"),
    keys: database.prepare(`SELECT ${KEY_COLUMNS} FROM api_key WHERE account_id = ?`),
    keyOwner: database.prepare("SELECT account_id FROM api_key WHERE secret_hash = ?"),
    days: database.prepare(
      `SELECT day, spent, absorbed, last_posting AS lastPosting FROM spent_day
         WHERE scope = ? AND day >= ? AND day < ?`,
    ),
    insertAccount: database.prepare(
      `INSERT INTO account (account_id, name, kind, created_at, frozen, inference_cap, requests_per_minute, in_flight_max,
         granted, spent, absorbed, clock, last_posting) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    insertKey: database.prepare("INSERT INTO api_key VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
    deleteKey: database.prepare("DELETE FROM api_key WHERE key_id = ?"),
    writeAccount: database.prepare(
      "UPDATE account SET granted = ?, spent = ?, absorbed = ?, clock = ?, last_posting = ? WHERE account_id = ?",
    ),
    writeProfile: database.prepare(
      `UPDATE account SET name = ?, frozen = ?, inference_cap = ?, requests_per_minute = ?, in_flight_max = ?
         WHERE account_id = ?`,
    ),
    writeOverruns: database.prepare(
      "UPDATE account SET strict_bounds = ?, overruns = ?, overrun_day = ? WHERE account_id = ?",
    ),
    writeKey: database.prepare(
      `UPDATE api_key SET secret_hash = ?, hint = ?, label = ?, paused = ?, ceiling = ?, ceiling_period = ?,
         last_used_at = ?, services = ?, models = ?, expires_at = ? WHERE key_id = ?`,
    ),
    writeDay: database.prepare(
      `INSERT INTO spent_day (scope, day, spent, absorbed, last_posting) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (scope, day) DO UPDATE
         SET spent = excluded.spent, absorbed = excluded.absorbed, last_posting = excluded.last_posting`,
    ),
    lastPosting: database.prepare("SELECT MAX(last_posting) AS last FROM spent_day WHERE scope = ?"),
  };
}
