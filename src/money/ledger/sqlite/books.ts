// Reads and writes a whole ledger file, for a command that has exclusive access.
import type { DatabaseSync } from "node:sqlite";
import type { AccountKind, PostingRow } from "../../../core/account-rows.ts";
import type { Clock } from "../../../core/clock.ts";
import { nano } from "../../../core/money.ts";
import type { TokenUsage } from "../../../core/route.ts";
import type { NumberedPosting } from "../archive/archive.ts";
import {
  type AccountBook,
  type BookCost,
  type BookIdempotency,
  type BookKey,
  type BookSource,
  type BookTarget,
  COST_DAYS_CARRIED,
} from "../books.ts";
import { legsIn, legsText } from "../model/legs.ts";
import { broughtScopes, INFERENCE_SCOPE, keyScope, storedScope } from "../model/state.ts";
import { tagsIn, tagsText } from "../model/tags.ts";
import { costIn, countsOf, windowList } from "../model/window-list.ts";
import { countingDay, dayOf } from "../model/windows.ts";
import { LEDGER_TABLES } from "../usage/sums.ts";
import { UsageTally } from "../usage/tally.ts";
import { openInquiry } from "./books-doctor.ts";
import { visit } from "./doctor-visit.ts";
import { type LedgerOperations, openUnit } from "./unit.ts";

const BATCH = 500;
const SWEEP_COUNT = 500;

type Row = Readonly<Record<string, string | number | null>>;

const text = (row: Row, name: string) => (row[name] === null || row[name] === undefined ? null : String(row[name]));
const listOf = (row: Row, name: string) => JSON.parse(text(row, name) ?? "null") as readonly string[] | null;
const numberOr = (row: Row, name: string) => (row[name] === null ? null : Number(row[name]));
const listText = (list: readonly string[] | null) => (list === null ? null : JSON.stringify(list));

function numbered(row: Row, number: number): NumberedPosting {
  const usage = text(row, "usage");
  return {
    transactionId: String(row.transaction_id),
    kind: row.kind as PostingRow["kind"],
    accountId: String(row.account_id),
    keyId: text(row, "key_id"),
    parentId: text(row, "parent_id"),
    requestId: text(row, "request_id"),
    createdAtMs: Number(row.created_at),
    operation: text(row, "operation"),
    asked: text(row, "asked"),
    served: text(row, "served"),
    provider: text(row, "provider"),
    amountNano: nano(Number(row.amount)),
    chargedCents: Number(row.charged_cents),
    upstreamNano: nano(Number(row.upstream)),
    absorbedNano: nano(Number(row.absorbed)),
    absorbReason: text(row, "absorb_reason"),
    usage: usage === null ? null : (JSON.parse(usage) as TokenUsage),
    estimated: row.estimated === 1,
    priceVersion: text(row, "price_version"),
    reference: text(row, "reference"),
    reason: text(row, "reason"),
    legs: legsIn(text(row, "legs")),
    tags: tagsIn(text(row, "tags")),
    number,
    day: numberOr(row, "day"),
    inference: row.inference === 1,
    windows: text(row, "windows"),
  };
}

function keyOf(row: Row): BookKey {
  return {
    keyId: String(row.key_id),
    accountId: String(row.account_id),
    primary: row.is_primary === 1,
    secretHash: String(row.secret_hash),
    hint: String(row.hint),
    label: String(row.label),
    externalId: text(row, "external_id"),
    paused: row.paused === 1,
    ceilingNano: row.ceiling === null ? null : nano(Number(row.ceiling)),
    ceilingPeriod: text(row, "ceiling_period") as BookKey["ceilingPeriod"],
    services: listOf(row, "services"),
    models: listOf(row, "models"),
    createdAtMs: Number(row.created_at),
    lastUsedAtMs: numberOr(row, "last_used_at"),
    expiresAtMs: numberOr(row, "expires_at"),
  };
}

function accountOf(row: Row): AccountBook["account"] {
  return {
    accountId: String(row.account_id),
    name: String(row.name),
    kind: row.kind as AccountKind,
    createdAtMs: Number(row.created_at),
    frozen: row.frozen === 1,
    inferenceCapNano: nano(Number(row.inference_cap)),
    requestsPerMinute: Number(row.requests_per_minute),
    inFlightMax: Number(row.in_flight_max),
    strictBounds: row.strict_bounds === 1,
    grantedNano: nano(Number(row.granted)),
    spentNano: nano(Number(row.spent)),
    absorbedNano: nano(Number(row.absorbed)),
  };
}

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
        return numbered(row, number);
      });
      after = Number(found.at(-1)?.seq);
    }
  }

  async function* accounts(): AsyncIterable<AccountBook> {
    const nowMs = clock.epochMs();
    for (const row of rows(database, "SELECT * FROM account ORDER BY account_id")) {
      const account = accountOf(row);
      const { accountId } = account;
      const idempotency = rows(
        database,
        "SELECT * FROM idempotency WHERE account_id = ? AND lapses_at > ?",
        accountId,
        nowMs,
      ).map(
        (one): BookIdempotency => ({
          ...{ keyId: String(one.key_id), key: String(one.idempotency_key), fingerprint: String(one.fingerprint) },
          ...{ holdId: String(one.hold_id), state: String(one.state), effect: String(one.effect) },
          lapsesAtMs: Number(one.lapses_at),
        }),
      );
      const keys = rows(database, "SELECT * FROM api_key WHERE account_id = ? ORDER BY key_id", accountId).map(keyOf);
      const brought = broughtScopes(accountId);
      const costs = rows(
        database,
        "SELECT scope, day, spent FROM spent_day WHERE scope > ? AND scope < ? AND day >= ? ORDER BY scope, day",
        ...[brought, `${brought.slice(0, -1)};`, dayOf(Number(row.clock)) - COST_DAYS_CARRIED],
      )
        .map(({ scope, day, spent }): BookCost => {
          return { scope: String(scope).slice(brought.length), day: Number(day), nano: Number(spent) };
        })
        .filter(({ scope }) => countsOf(scope) !== "charge");
      yield { account, clockMs: Number(row.clock), keys, idempotency, costs };
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

interface Links {
  readonly seqs: Map<string, number>;
  readonly days: Map<string, Day>;
}

/** Writes the account, its keys and its idempotency keys; `lastSeq` is its last posting. */
function writeAccount(
  sql: ReturnType<typeof prepareWrites>,
  { account, clockMs, keys, idempotency }: AccountBook,
  lastSeq: number | null,
): void {
  const { accountId, name, kind, createdAtMs, frozen, inferenceCapNano, requestsPerMinute, inFlightMax } = account;
  sql.account.run(
    ...[accountId, name, kind, createdAtMs, frozen ? 1 : 0, inferenceCapNano, requestsPerMinute, inFlightMax],
    ...[account.grantedNano, account.spentNano, account.absorbedNano, clockMs, lastSeq],
    account.strictBounds ? 1 : 0,
  );
  for (const key of keys) {
    sql.key.run(
      ...[key.keyId, accountId, key.primary ? 1 : 0, key.secretHash, key.hint, key.label, key.externalId],
      ...[key.paused ? 1 : 0, key.ceilingNano, key.ceilingPeriod, key.createdAtMs, key.lastUsedAtMs],
      ...[listText(key.services), listText(key.models), key.expiresAtMs],
    );
  }
  for (const row of idempotency) {
    const { keyId, key, fingerprint, holdId, state, effect, lapsesAtMs } = row;
    sql.idempotency.run(accountId, keyId, key, fingerprint, holdId, state, effect, lapsesAtMs);
  }
}

/** Writes a ledger into a new database, in one transaction. */
export function sqliteBookTarget(database: DatabaseSync, clock: Clock): BookTarget {
  openUnit(database, { epochMs: clock.epochMs(), elapsedMs: clock.elapsedMs() });
  database.exec("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE");
  const links: Links = { seqs: new Map(), days: new Map() };
  const sql = prepareWrites(database);
  const tally = new UsageTally(database, LEDGER_TABLES);

  function take(posting: NumberedPosting): void {
    const { accountId, keyId } = posting;
    const key = keyId === null ? null : keyScope(keyId);
    const before = [links.seqs.get(accountId) ?? null, key === null ? null : (links.seqs.get(key) ?? null)];
    const usage = posting.usage === null ? null : JSON.stringify(posting.usage);
    const { lastInsertRowid } = sql.posting.run(
      ...[posting.transactionId, posting.kind, accountId, keyId, posting.parentId, posting.requestId],
      ...[posting.createdAtMs, posting.day, posting.inference ? 1 : 0, posting.operation, posting.asked],
      ...[posting.served, posting.provider, posting.amountNano, posting.chargedCents, posting.upstreamNano],
      ...[posting.absorbedNano, posting.absorbReason, usage, posting.estimated ? 1 : 0, posting.priceVersion],
      ...[posting.reference, posting.reason, ...before, legsText(posting.legs)],
      ...[tagsText(posting.tags), posting.windows],
    );
    const seq = Number(lastInsertRowid);
    tally.add(posting, seq);
    links.seqs.set(accountId, seq);
    if (key === null || posting.day === null) return;
    links.seqs.set(key, seq);
    const { charged, costs } = windowList(posting.windows ?? "");
    for (const ofAccount of [key, ...(posting.inference ? [INFERENCE_SCOPE] : []), ...charged.map((w) => w.scope)]) {
      const scope = storedScope(accountId, ofAccount);
      const onDay = countingDay(ofAccount, posting.day);
      const name = `${scope} ${onDay}`;
      const day = links.days.get(name) ?? { scope, day: onDay, spent: 0, absorbed: 0, last: seq };
      day.spent += posting.amountNano;
      day.absorbed += posting.absorbedNano;
      day.last = seq;
      links.days.set(name, day);
    }
    for (const window of costs) {
      const cost = costIn(window, posting.amountNano, posting.upstreamNano);
      if (cost > 0) addCost(storedScope(accountId, window.scope), posting.day, cost);
    }
  }

  function addCost(scope: string, day: number, by: number): void {
    const name = `${scope} ${day}`;
    const before = links.days.get(name)?.spent ?? 0;
    links.days.set(name, { scope, day, spent: before + by, absorbed: 0, last: null });
  }

  function takeBook(book: AccountBook): void {
    const { accountId } = book.account;
    writeAccount(sql, book, links.seqs.get(accountId) ?? null);
    for (const { scope, day, nano: whole } of book.costs) {
      const name = storedScope(accountId, scope);
      addCost(name, day, Math.max(0, whole - (links.days.get(`${name} ${day}`)?.spent ?? 0)));
    }
  }

  return {
    async takePostings(postings) {
      postings.forEach(take);
      tally.flush();
    },
    takeAccount: async (book) => takeBook(book),
    async finish() {
      for (const { scope, day, spent, last, absorbed } of links.days.values()) {
        sql.day.run(scope, day, spent, last, absorbed);
      }
      database.exec("UPDATE counted SET last = (SELECT COALESCE(MAX(seq), 0) FROM posting); COMMIT");
    },
    close: () => Promise.resolve(database.close()),
  };
}

function prepareWrites(database: DatabaseSync) {
  const places = (count: number) => Array.from({ length: count }, () => "?").join(", ");
  return {
    posting: database.prepare(
      `INSERT INTO posting (transaction_id, kind, account_id, key_id, parent_id, request_id, created_at, day, inference,
         operation, asked, served, provider, amount, charged_cents, upstream, absorbed, absorb_reason, usage, estimated,
         price_version, reference, reason, before_of_account, before_of_key, legs,
         tags, windows) VALUES (${places(28)})`,
    ),
    account: database.prepare(
      `INSERT INTO account (account_id, name, kind, created_at, frozen, inference_cap, requests_per_minute, in_flight_max,
         granted, spent, absorbed, clock, last_posting, strict_bounds) VALUES (${places(14)})`,
    ),
    key: database.prepare(`INSERT INTO api_key VALUES (${places(15)})`),
    day: database.prepare(`INSERT INTO spent_day (scope, day, spent, last_posting, absorbed) VALUES (${places(5)})`),
    idempotency: database.prepare(`INSERT INTO idempotency VALUES (${places(8)})`),
  };
}
