// The rows that are written once and found by id: holds, postings, tombstones, idempotency keys.
import type { DatabaseSync } from "node:sqlite";
import type { Nano } from "../money.ts";
import type { TokenUsage } from "../plan.ts";
import type { HoldState, PostingRow } from "./ledger.ts";
import type { LiveHold } from "./state.ts";

/** A posting with what its money is counted in, which readers of transactions do not see. */
export interface NewPosting extends PostingRow {
  readonly day: number | null;
  readonly inference: boolean;
}

export interface HoldSql {
  hold_id: string;
  account_id: string;
  key_id: string;
  amount: number;
  accrued: number;
  day: number;
  inference: number;
  slots: string;
  owner: string;
  lease_ms: number;
  on_expire: "void" | "post-accrued";
  effect: "read" | "write";
  parent_id: string | null;
  request_id: string;
  operation: string;
  asked: string;
  idempotency_key: string | null;
  created_at: number;
}

export interface IdempotencyRow {
  readonly fingerprint: string;
  readonly holdId: string;
  readonly state: HoldState;
  readonly effect: "read" | "write";
  readonly lapsesAtMs: number;
}

interface PostingSql {
  seq: number;
  transaction_id: string;
  kind: PostingRow["kind"];
  account_id: string;
  key_id: string | null;
  parent_id: string | null;
  request_id: string | null;
  created_at: number;
  operation: string | null;
  asked: string | null;
  served: string | null;
  provider: string | null;
  amount: Nano;
  charged_cents: number;
  upstream: Nano;
  absorbed: Nano;
  absorb_reason: string | null;
  usage: string | null;
  estimated: number;
  price_version: string | null;
  reference: string | null;
  reason: string | null;
}

export class EntryTables {
  readonly #sql: ReturnType<typeof prepare>;

  constructor(database: DatabaseSync) {
    this.#sql = prepare(database);
  }

  holds(): HoldSql[] {
    return this.#sql.holds.all() as unknown as HoldSql[];
  }

  insertHold(hold: LiveHold): void {
    this.#sql.insertHold.run(
      ...[hold.holdId, hold.account.accountId, hold.keyId, hold.amount, hold.accrued, hold.day],
      ...[
        hold.inference ? 1 : 0,
        hold.slots.length === 0 ? "[]" : JSON.stringify(hold.slots),
        hold.owner,
        hold.leaseMs,
      ],
      ...[hold.onExpire, hold.effect, hold.parentId, hold.requestId, hold.operation, hold.asked],
      ...[hold.idempotencyKey, hold.createdAtMs],
    );
  }

  updateHold({ holdId, amount, accrued, leaseMs }: LiveHold): void {
    this.#sql.updateHold.run(amount, accrued, leaseMs, holdId);
  }

  deleteHold(holdId: string): void {
    this.#sql.deleteHold.run(holdId);
  }

  /** How a hold that is no longer live has ended, or null where it never was. */
  endOf(holdId: string): HoldState | null {
    const row = this.#sql.endOf.get(holdId, holdId);
    return row === undefined ? null : (row.state as HoldState);
  }

  bury(holdId: string, accountId: string, end: { state: HoldState; reason: string; atMs: number }): void {
    this.#sql.bury.run(holdId, accountId, end.state, end.reason, end.atMs);
  }

  /** Removes up to `countMax` of the tombstones and idempotency keys that nobody can ask for any more. */
  prune(countMax: number, buriedBeforeMs: number, nowMs: number): void {
    this.#sql.pruneTombstones.run(countMax, buriedBeforeMs);
    this.#sql.pruneIdempotency.run(nowMs, countMax);
  }

  insertPosting(row: NewPosting): void {
    this.#sql.insertPosting.run(
      ...[row.transactionId, row.kind, row.accountId, row.keyId, row.parentId, row.requestId, row.createdAtMs, row.day],
      ...[row.inference ? 1 : 0, row.operation, row.asked, row.served, row.provider, row.amountNano, row.chargedCents],
      ...[row.upstreamNano, row.absorbedNano, row.absorbReason, row.usage === null ? null : JSON.stringify(row.usage)],
      ...[row.estimated ? 1 : 0, row.priceVersion, row.reference, row.reason],
    );
  }

  posting(transactionId: string): PostingRow | null {
    const row = this.#sql.posting.get(transactionId) as unknown as PostingSql | undefined;
    return row === undefined ? null : postingRow(row);
  }

  postingByReference(accountId: string, kind: "topup" | "refund", reference: string): PostingRow | null {
    const row = this.#sql.postingByReference.get(accountId, kind, reference) as unknown as PostingSql | undefined;
    return row === undefined ? null : postingRow(row);
  }

  /** Up to `limit` postings before `cursor`, newest first, of an account or of one of its keys. */
  postings(accountId: string, keyId: string | null, page: { limit: number; cursor: number }) {
    const rows =
      keyId === null
        ? this.#sql.postingsOfAccount.all(accountId, page.cursor, page.limit + 1)
        : this.#sql.postingsOfKey.all(keyId, accountId, page.cursor, page.limit + 1);
    const shown = rows.slice(0, page.limit) as unknown as PostingSql[];
    const last = shown.at(-1);
    return { rows: shown.map(postingRow), next: rows.length > page.limit && last ? String(last.seq) : null };
  }

  idempotency(accountId: string, keyId: string, key: string): IdempotencyRow | null {
    return (this.#sql.idempotency.get(accountId, keyId, key) as unknown as IdempotencyRow | undefined) ?? null;
  }

  putIdempotency(hold: LiveHold, fingerprint: string, lapsesAtMs: number): void {
    const { account, keyId, idempotencyKey, holdId, effect } = hold;
    this.#sql.putIdempotency.run(account.accountId, keyId, idempotencyKey, fingerprint, holdId, effect, lapsesAtMs);
  }

  endIdempotency(hold: LiveHold, state: HoldState): void {
    if (hold.idempotencyKey === null) return;
    this.#sql.endIdempotency.run(state, hold.account.accountId, hold.keyId, hold.idempotencyKey, hold.holdId);
  }

  totals() {
    return this.#sql.totals.get() as unknown as { accounts: number; spentNano: Nano; absorbedNano: Nano };
  }
}

function prepare(database: DatabaseSync) {
  return {
    holds: database.prepare("SELECT * FROM hold"),
    insertHold: database.prepare("INSERT INTO hold VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
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
      `DELETE FROM tombstone WHERE seq IN
         (SELECT seq FROM (SELECT seq, ended_at FROM tombstone ORDER BY seq LIMIT ?) WHERE ended_at < ?)`,
    ),
    pruneIdempotency: database.prepare(
      `DELETE FROM idempotency WHERE (account_id, key_id, idempotency_key) IN
         (SELECT account_id, key_id, idempotency_key FROM idempotency
           WHERE lapses_at <= ? AND state <> 'held' ORDER BY lapses_at LIMIT ?)`,
    ),
    insertPosting: database.prepare(
      `INSERT INTO posting (transaction_id, kind, account_id, key_id, parent_id, request_id, created_at, day, inference,
         operation, asked, served, provider, amount, charged_cents, upstream, absorbed, absorb_reason, usage, estimated,
         price_version, reference, reason)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    posting: database.prepare("SELECT * FROM posting WHERE transaction_id = ?"),
    postingByReference: database.prepare("SELECT * FROM posting WHERE account_id = ? AND kind = ? AND reference = ?"),
    postingsOfAccount: database.prepare(
      "SELECT * FROM posting WHERE account_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?",
    ),
    postingsOfKey: database.prepare(
      "SELECT * FROM posting WHERE key_id = ? AND account_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?",
    ),
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
    totals: database.prepare(
      `SELECT COUNT(*) AS accounts, COALESCE(SUM(spent), 0) AS spentNano, COALESCE(SUM(absorbed), 0) AS absorbedNano
         FROM account`,
    ),
  };
}

function postingRow(row: PostingSql): PostingRow {
  return {
    transactionId: row.transaction_id,
    kind: row.kind,
    accountId: row.account_id,
    keyId: row.key_id,
    parentId: row.parent_id,
    requestId: row.request_id,
    createdAtMs: row.created_at,
    operation: row.operation,
    asked: row.asked,
    served: row.served,
    provider: row.provider,
    amountNano: row.amount,
    chargedCents: row.charged_cents,
    upstreamNano: row.upstream,
    absorbedNano: row.absorbed,
    absorbReason: row.absorb_reason,
    usage: row.usage === null ? null : (JSON.parse(row.usage) as TokenUsage),
    estimated: row.estimated === 1,
    priceVersion: row.price_version,
    reference: row.reference,
    reason: row.reason,
  };
}
