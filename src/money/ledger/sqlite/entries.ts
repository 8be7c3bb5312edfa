// Rows that are written once and found by id: holds, postings, tombstones, idempotency keys.
import type { DatabaseSync } from "node:sqlite";
import type { PostingRow } from "../../../core/account-rows.ts";
import type { Value } from "../../../platform/storage/reading-thread.ts";
import { numberedPosting, postingRow, type Row, tagsText, wholePosting } from "../archive/rows.ts";
import { EVENTS_KEPT_MAX, type LedgerEvent } from "../model/event.ts";
import type { HoldState, KeyFate } from "../model/ledger.ts";
import { legsText } from "../model/legs.ts";
import type { LiveHold } from "../model/state.ts";
import { LEDGER_TABLES } from "../usage/sums.ts";
import { UsageTally } from "../usage/tally.ts";

/** The fields of a posting that transaction readers do not see: where it counts, and its list links. */
export interface PostingPlace {
  readonly day: number | null;
  readonly inference: boolean;
  /** The windows that it moved, beside the store's own, in compact form; null: none. */
  readonly windows: string | null;
  readonly beforeOfAccount: number | null;
  readonly beforeOfKey: number | null;
}

/** A posting as it is stored. */
export type PlacedPosting = PostingRow & PostingPlace;

/** A hold as it is stored. */
export interface StoredHold
  extends Omit<LiveHold, "account" | "days" | "inference" | "slots" | "windows" | "written" | "leaseEndsElapsedMs"> {
  readonly accountId: string;
  readonly inference: number;
  readonly slots: string;
  readonly windows: string | null;
}

export interface IdempotencyRow {
  readonly fingerprint: string;
  readonly holdId: string;
  readonly state: HoldState | KeyFate;
  readonly effect: "read" | "write";
  readonly lapsesAtMs: number;
}

/** Exceeds exact numbers. */
interface Charged {
  spent: bigint;
  /** The part of sandbox accounts. */
  play: bigint;
  absorbed: bigint;
}

const linkIn = (value: Value | undefined) => (value == null ? null : Number(value));

/** Rows pruned at once; takes under a millisecond. */
const PRUNED_AT_ONCE = 64;

/** Stores ledger events until they are delivered. */
class EventTable {
  readonly #sql: ReturnType<typeof prepareEvents>;

  constructor(database: DatabaseSync) {
    this.#sql = prepareEvents(database);
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

export class EntryTables {
  readonly #sql: ReturnType<typeof prepare>;
  readonly #tally: UsageTally;
  readonly events: EventTable;
  /** The total of all charges: the daily sums at start, and everything since. */
  #charged: Charged;

  constructor(database: DatabaseSync) {
    this.#sql = prepare(database);
    this.events = new EventTable(database);
    this.#tally = new UsageTally(database, LEDGER_TABLES);
    this.#charged = this.#chargedStored();
  }

  #chargedStored(): Charged {
    const { spent, absorbed } = this.#sql.charged.get() as unknown as { spent: string; absorbed: string };
    const { play } = this.#sql.play.get() as unknown as { play: string };
    return { spent: BigInt(spent), play: BigInt(play), absorbed: BigInt(absorbed) };
  }

  /** Writes the daily sums, which count all postings up to `last`. */
  flush(last: number): void {
    this.#tally.flush();
    this.#sql.writeCounted.run(last);
  }

  reload(): void {
    this.#tally.forget();
    this.#charged = this.#chargedStored();
  }

  /** The last posting that the stored sums count. */
  counted(): number {
    return Number(this.#sql.counted.get()?.last);
  }

  /** The postings after this number, in order. */
  *postingsAfter(number: number): Generator<{ readonly posting: PlacedPosting; readonly number: number }> {
    for (const found of this.#sql.postingsAfter.iterate(number)) {
      const row = found as Row;
      const links = { beforeOfAccount: linkIn(row.before_of_account), beforeOfKey: linkIn(row.before_of_key) };
      yield { posting: { ...numberedPosting(row), ...links }, number: Number(row.seq) };
    }
  }

  holds(): StoredHold[] {
    return this.#sql.holds.all() as unknown as StoredHold[];
  }

  insertHold(hold: LiveHold): void {
    this.#sql.insertHold.run(
      ...[hold.holdId, hold.account.accountId, hold.keyId, hold.amount, hold.accrued, hold.day],
      ...[hold.inference ? 1 : 0, JSON.stringify(hold.slots), hold.owner, hold.leaseMs],
      ...[hold.onExpire, hold.effect, hold.parentId, hold.requestId, hold.operation, hold.asked],
      ...[hold.idempotencyKey, hold.createdAtMs, hold.windows.text || null],
    );
  }

  updateHold({ holdId, amount, accrued, leaseMs }: LiveHold): void {
    this.#sql.updateHold.run(amount, accrued, leaseMs, holdId);
  }

  deleteHold(holdId: string): void {
    this.#sql.deleteHold.run(holdId);
  }

  /** A hold's stored amount; null: it has no row. */
  holdRow(holdId: string): { readonly amount: number } | null {
    return (this.#sql.hold.get(holdId) as unknown as { amount: number } | undefined) ?? null;
  }

  /** How an ended hold ended; null for one that never existed. */
  endOf(holdId: string): HoldState | null {
    const row = this.#sql.endOf.get(holdId, holdId);
    return row === undefined ? null : (row.state as HoldState);
  }

  bury(holdId: string, accountId: string, end: { state: HoldState; reason: string; atMs: number }): void {
    this.#sql.bury.run(holdId, accountId, end.state, end.reason, end.atMs);
  }

  /** Prunes some expired tombstones and idempotency keys; returns whether there may be more. */
  prune(buriedBeforeMs: number, nowMs: number): boolean {
    const pruned = [
      this.#sql.pruneTombstones.run(buriedBeforeMs, PRUNED_AT_ONCE),
      this.#sql.pruneIdempotency.run(nowMs, PRUNED_AT_ONCE),
    ];
    return pruned.some(({ changes }) => changes === PRUNED_AT_ONCE);
  }

  /** Writes a posting and returns its number. */
  insertPosting(row: PlacedPosting): number {
    const { lastInsertRowid } = this.#sql.insertPosting.run(
      ...[row.transactionId, row.kind, row.accountId, row.keyId, row.parentId, row.requestId, row.createdAtMs, row.day],
      ...[row.inference ? 1 : 0, row.operation, row.asked, row.served, row.provider, row.amountNano, row.chargedCents],
      ...[row.upstreamNano, row.absorbedNano, row.absorbReason, row.usage === null ? null : JSON.stringify(row.usage)],
      ...[row.estimated ? 1 : 0, row.priceVersion, row.reference, row.reason, row.beforeOfAccount, row.beforeOfKey],
      ...[legsText(row.legs), tagsText(row.tags), row.windows],
    );
    return Number(lastInsertRowid);
  }

  /** Adds a posting to the daily sums and totals. `isPlay`: it is of a sandbox account. */
  count(row: PostingRow, number: number, isPlay: boolean): void {
    this.#tally.add(row, number);
    if (row.kind !== "charge") return;
    this.#charged.spent += BigInt(row.amountNano);
    if (isPlay) this.#charged.play += BigInt(row.amountNano);
    this.#charged.absorbed += BigInt(row.absorbedNano);
  }

  posting(transactionId: string): PostingRow | null {
    const row = this.#sql.posting.get(transactionId) as Row | undefined;
    return row === undefined ? null : wholePosting(row);
  }

  postingByReference(accountId: string, kind: "topup" | "refund", reference: string): PostingRow | null {
    const row = this.#sql.postingByReference.get(accountId, kind, reference) as Row | undefined;
    return row === undefined ? null : postingRow(row);
  }

  /** Up to `limit` postings of an account, or of one of its keys, from the one of number `from` backward. */
  list(owner: { accountId: string; keyId: string | null }, from: number | null, limit: number) {
    const rows: PostingRow[] = [];
    let next = from;
    while (next !== null && rows.length < limit) {
      const row = this.#sql.postingByNumber.get(next) as Row | undefined;
      // A cursor comes from outside: it may name anybody's posting.
      if (row?.account_id !== owner.accountId || (owner.keyId !== null && row.key_id !== owner.keyId)) break;
      rows.push(postingRow(row));
      next = linkIn(owner.keyId === null ? row.before_of_account : row.before_of_key);
    }
    return { rows, next: next === null || rows.length < limit ? null : String(next) };
  }

  idempotency(accountId: string, keyId: string, key: string): IdempotencyRow | null {
    return (this.#sql.idempotency.get(accountId, keyId, key) as unknown as IdempotencyRow | undefined) ?? null;
  }

  putIdempotency(hold: LiveHold, fingerprint: string, lapsesAtMs: number): void {
    const { account, keyId, idempotencyKey, holdId, effect } = hold;
    this.#sql.putIdempotency.run(account.accountId, keyId, idempotencyKey, fingerprint, holdId, effect, lapsesAtMs);
  }

  /** A key that is free again is as good as never used: nothing is kept of it. */
  endIdempotency(hold: LiveHold, state: HoldState | KeyFate): void {
    if (hold.idempotencyKey === null) return;
    const own = [hold.account.accountId, hold.keyId, hold.idempotencyKey, hold.holdId];
    if (state === "free") this.#sql.freeIdempotency.run(...own);
    else this.#sql.endIdempotency.run(state, ...own);
  }

  totals() {
    const { accounts } = this.#sql.accountCount.get() as unknown as { accounts: number };
    const { spent, play, absorbed } = this.#charged;
    return { accounts, spentNano: String(spent), playNano: String(play), absorbedNano: String(absorbed) };
  }
}

function prepare(database: DatabaseSync) {
  return {
    holds: database.prepare(
      `SELECT hold_id AS holdId, account_id AS accountId, key_id AS keyId, amount, accrued, day, inference, slots, owner,
         lease_ms AS leaseMs, on_expire AS onExpire, effect, parent_id AS parentId, request_id AS requestId, operation, asked,
         idempotency_key AS idempotencyKey, created_at AS createdAtMs, windows FROM hold`,
    ),
    hold: database.prepare("SELECT amount FROM hold WHERE hold_id = ?"),
    insertHold: database.prepare("INSERT INTO hold VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
    updateHold: database.prepare("UPDATE hold SET amount = ?, accrued = ?, lease_ms = ? WHERE hold_id = ?"),
    deleteHold: database.prepare("DELETE FROM hold WHERE hold_id = ?"),
    endOf: database.prepare(
      `SELECT 'posted' AS state FROM posting WHERE transaction_id = ?
       UNION ALL SELECT state FROM tombstone WHERE hold_id = ? LIMIT 1`,
    ),
    bury: database.prepare(
      "INSERT INTO tombstone (hold_id, account_id, state, reason, ended_at) VALUES (?, ?, ?, ?, ?)",
    ),
    pruneTombstones: database.prepare(
      "DELETE FROM tombstone WHERE seq IN (SELECT seq FROM tombstone WHERE ended_at < ? ORDER BY ended_at LIMIT ? + 0)",
    ),
    pruneIdempotency: database.prepare(
      `DELETE FROM idempotency WHERE (account_id, key_id, idempotency_key) IN
         (SELECT account_id, key_id, idempotency_key FROM idempotency
           WHERE lapses_at <= ? AND state <> 'held' ORDER BY lapses_at LIMIT ? + 0)`,
    ),
    insertPosting: database.prepare(
      `INSERT INTO posting (transaction_id, kind, account_id, key_id, parent_id, request_id, created_at, day, inference,
         operation, asked, served, provider, amount, charged_cents, upstream, absorbed, absorb_reason, usage, estimated,
         price_version, reference, reason, before_of_account, before_of_key, legs,
         tags, windows)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    counted: database.prepare("SELECT last FROM counted"),
    writeCounted: database.prepare("UPDATE counted SET last = ?"),
    postingsAfter: database.prepare("SELECT * FROM posting WHERE seq > ? ORDER BY seq"),
    posting: database.prepare("SELECT * FROM posting WHERE transaction_id = ?"),
    postingByReference: database.prepare("SELECT * FROM posting WHERE account_id = ? AND kind = ? AND reference = ?"),
    postingByNumber: database.prepare("SELECT * FROM posting WHERE seq = ?"),
    idempotency: database.prepare(
      `SELECT fingerprint, hold_id AS holdId, state, effect, lapses_at AS lapsesAtMs FROM idempotency
         WHERE account_id = ? AND key_id = ? AND idempotency_key = ?`,
    ),
    putIdempotency: database.prepare(
      `INSERT OR REPLACE INTO idempotency
         (account_id, key_id, idempotency_key, fingerprint, hold_id, state, effect, lapses_at)
       VALUES (?, ?, ?, ?, ?, 'held', ?, ?)`,
    ),
    endIdempotency: database.prepare(
      `UPDATE idempotency SET state = ?
         WHERE account_id = ? AND key_id = ? AND idempotency_key = ? AND hold_id = ?`,
    ),
    freeIdempotency: database.prepare(
      "DELETE FROM idempotency WHERE account_id = ? AND key_id = ? AND idempotency_key = ? AND hold_id = ?",
    ),
    accountCount: database.prepare("SELECT accounts FROM account_count"),
    charged: database.prepare(
      `SELECT CAST(COALESCE(SUM(amount), 0) AS text) AS spent, CAST(COALESCE(SUM(absorbed), 0) AS text) AS absorbed
         FROM usage_total WHERE kind = 'charge'`,
    ),
    play: database.prepare("SELECT CAST(COALESCE(SUM(spent), 0) AS text) AS play FROM account WHERE kind = 'sandbox'"),
  };
}

function prepareEvents(database: DatabaseSync) {
  return {
    // With a bare `LIMIT ?`, SQLite compiles the statement again each time it runs.
    tell: database.prepare("INSERT OR IGNORE INTO told (id, kind, account_id, at, data) VALUES (?, ?, ?, ?, ?)"),
    forget: database.prepare("DELETE FROM told WHERE seq <= ?"),
    told: database.prepare("SELECT * FROM told ORDER BY seq LIMIT ? + 0"),
    drop: database.prepare("DELETE FROM told WHERE id = ?"),
  };
}
