// Checks every invariant of the ledger, account by account: postings against sums, memory against rows.
import type { DatabaseSync } from "node:sqlite";
import { centsUp, GRANTED_NANO_MAX, type Nano } from "../../money.ts";
import type { Finding } from "../model/ledger.ts";
import { legsFault } from "../model/legs.ts";
import { type AccountState, broughtScopes, INFERENCE_SCOPE, keyScope, storedScope } from "../model/state.ts";
import { costIn, countsOf, windowList } from "../model/window-list.ts";
import type { ExaminedPosting } from "./entries.ts";
import type { LedgerState } from "./state.ts";

/** A live hold whose lease ended this long ago should have been swept. */
const SWEPT_WITHIN_MS = 60_000;
/** Postings examined in one go; calls go on between. They never change, so they can be read later than the sums. */
const POSTINGS_PER_STEP = 1_000;

/** What has been examined. The doctor adds to it and stops now and then. */
export interface Examination {
  accounts: number;
  holds: number;
  postings: number;
  readonly findings: Finding[];
}

type Say = (invariant: string, detail: string) => void;

/** What a scope's day says, or what its postings add up to. */
interface DaySums {
  readonly spent: number;
  readonly absorbed: number;
}

const NOTHING: DaySums = { spent: 0, absorbed: 0 };

function sumsOf(row: Readonly<Record<string, unknown>> | undefined): DaySums {
  return { spent: Number(row?.spent ?? 0), absorbed: Number(row?.absorbed ?? 0) };
}

export class Doctor {
  readonly #sql: ReturnType<typeof prepare>;
  readonly #state: LedgerState;

  constructor(database: DatabaseSync, state: LedgerState) {
    this.#sql = prepare(database);
    this.#state = state;
  }

  /** Examines everything; yields where other work may come between. With `file`, the file's own structure as well. */
  *examine(seen: Examination, file: boolean): Generator<null> {
    const stored = this.#sql.counts.get() as unknown as { last: number; holds: number };
    const sayOfAll: Say = (invariant, detail) => seen.findings.push({ invariant, accountId: null, detail });
    if (file) this.#file(sayOfAll);
    const live = [...this.#state.holds.values()].filter((hold) => hold.written).length;
    if (stored.holds !== live)
      sayOfAll("I2", `${stored.holds} holds are stored, ${live} with a row are live in memory`);
    let reached = 0;
    for (const accountId of this.#state.accounts.accountIds()) {
      const account = this.#state.accounts.look(accountId);
      if (account === null) continue;
      const say: Say = (invariant, detail) => seen.findings.push({ invariant, accountId, detail });
      seen.accounts += 1;
      seen.holds += account.holds.size;
      this.#account(account, say);
      this.#holds(account, say);
      const walk = new PostingWalk(account, this.#dayRows(account));
      for (let next = account.lastPosting; next !== null; ) {
        const posting: ExaminedPosting | null = this.#state.entries.examinedPosting(next);
        if (posting?.accountId !== accountId) {
          say("I1", `posting ${next} is missing from the account's list`);
          break;
        }
        if (next <= stored.last) reached += 1;
        walk.take(next, posting, say);
        next = posting.beforeOfAccount;
        if (walk.count % POSTINGS_PER_STEP === 0) yield null;
      }
      seen.postings += walk.count;
      walk.end((day) => this.#dayRow(day), say);
      yield null;
    }
    if (reached !== stored.last) this.#countPostings(stored.last, reached, sayOfAll);
  }

  /** Numbers are given one after the other: they are only counted, which calls wait for, where the last one says that some are missing. */
  #countPostings(last: number, reached: number, say: Say): void {
    const { postings } = this.#sql.countPostings.get(last) as unknown as { postings: number };
    if (reached !== postings) say("I1", `${postings} postings are stored, ${reached} are in accounts' lists`);
  }

  #file(say: Say): void {
    for (const { quick_check: detail } of this.#sql.quickCheck.all()) {
      if (detail !== "ok") say("file", String(detail));
    }
  }

  #dayRows({ accountId, keys, holds }: AccountState): Map<string, DaySums> {
    const names = [...keys.keys(), ...[...holds].map((hold) => hold.keyId)].map(keyScope);
    const days = new Map<string, DaySums>();
    for (const name of [storedScope(accountId, INFERENCE_SCOPE), ...names]) {
      for (const row of this.#sql.days.all(name)) days.set(`${name} ${row.day}`, sumsOf(row));
    }
    const brought = broughtScopes(accountId);
    for (const row of this.#sql.brought.all(brought, `${brought.slice(0, -1)};`)) {
      if (countsOf(String(row.scope).slice(brought.length)) === "charge")
        days.set(`${row.scope} ${row.day}`, sumsOf(row));
    }
    return days;
  }

  /** A day of a key that is no longer there. */
  #dayRow(name: string): DaySums {
    const at = name.lastIndexOf(" ");
    return sumsOf(this.#sql.day.get(name.slice(0, at), Number(name.slice(at + 1))));
  }

  /** I1, I3, I6, I12: the account in memory against its row, and its idempotency keys against its holds. */
  #account(account: AccountState, say: Say): void {
    const { granted, spent, absorbed, held, clockMs } = account;
    const row = this.#sql.account.get(account.accountId) as unknown as Record<string, number>;
    for (const [name, value] of Object.entries({ granted, spent, absorbed })) {
      if (row[name] !== value) say("I1", `${name} is ${value} in memory, ${row[name]} in the account's row`);
    }
    if (spent + held > granted) say("I3", `spent ${spent} and held ${held} exceed the granted ${granted}`);
    if (granted > GRANTED_NANO_MAX) say("I3", `granted ${granted} is more than can be counted exactly`);
    if (clockMs < (row.clock ?? 0)) say("I12", `the clock fell from ${row.clock} to ${clockMs}`);
    for (const { detail } of this.#sql.idempotency.all(account.accountId)) say("I6", String(detail));
  }

  /** I2, I4, I6, I8: live holds, in memory and in their table, and what they take of days and slots. */
  #holds(account: AccountState, say: Say): void {
    const sums = new Map<string, number>();
    const count = (name: string, by: number) => sums.set(name, (sums.get(name) ?? 0) + by);
    for (const hold of account.holds) {
      const { holdId, amount } = hold;
      const row = this.#state.entries.holdRow(holdId);
      if (hold.written ? row?.amount !== amount : row !== null)
        say("I2", `${holdId} holds ${amount} in memory, ${row?.amount ?? "nothing"} in its row`);
      const end = this.#state.entries.endOf(holdId);
      if (end !== null) say("I6", `${holdId} is live and ${end}`);
      const overdueMs = Math.round(this.#state.elapsedMs() - hold.leaseEndsElapsedMs);
      if (overdueMs > SWEPT_WITHIN_MS) say("I8", `the lease of ${holdId} ended ${overdueMs} ms ago`);
      count("account", amount);
      for (const { of, day } of hold.days) count(`${of.name} ${day}`, amount);
      for (const scope of hold.slots) count(`slot ${scope}`, 1);
    }
    const compare = (invariant: string, name: string, value: number) => {
      const sum = sums.get(name) ?? 0;
      if (value !== sum) say(invariant, `${name} holds ${value}, its live holds add up to ${sum}`);
      sums.delete(name);
    };
    compare("I2", "account", account.held);
    for (const [scope, taken] of account.slots) compare("I2", `slot ${scope}`, taken);
    for (const { name, days } of account.scopes.values()) {
      for (const { day, held } of days.values()) compare("I4", `${name} ${day}`, held);
    }
    for (const [name, sum] of sums) say("I4", `${name} holds nothing, its live holds add up to ${sum}`);
  }
}

/** Adds up an account's postings, newest first, and compares with what the account says. */
class PostingWalk {
  count = 0;
  readonly #sums = { charged: 0, credited: 0, cents: 0, shortfall: 0 };
  readonly #expected: { granted: number; spent: number; absorbed: number };
  readonly #dayRows: Map<string, DaySums>;
  readonly #daySums = new Map<string, DaySums>();
  /** What days of cost come to at least. */
  readonly #costs = new Map<string, number>();
  /** Refunds whose charge has not been met yet: it must come, being older. */
  readonly #refunds = new Map<string, number>();
  /** The number that the next posting of each key must have. */
  readonly #linkOfKey = new Map<string, number | null>();
  #laterMs: number;

  constructor({ granted, spent, absorbed, clockMs }: AccountState, dayRows: Map<string, DaySums>) {
    this.#expected = { granted, spent, absorbed };
    this.#dayRows = dayRows;
    this.#laterMs = clockMs;
  }

  take(number: number, posting: ExaminedPosting, say: Say): void {
    this.count += 1;
    const { transactionId, createdAtMs, keyId, amountNano: amount } = posting;
    if (createdAtMs > this.#laterMs) say("I12", `${transactionId} is of ${createdAtMs}, later than what came after it`);
    this.#laterMs = createdAtMs;
    this.#sums.cents += posting.chargedCents;
    this.#sums.shortfall += posting.absorbedNano;
    if (posting.kind !== "charge") {
      this.#sums.credited += amount;
      if (posting.kind === "refund") this.#refunds.set(posting.reference ?? "", amount);
      return;
    }
    this.#sums.charged += amount;
    const fault = legsFault(posting);
    if (fault !== null) say("I13", fault);
    const refunded = this.#refunds.get(transactionId) ?? amount;
    if (refunded !== amount) say("I9", `${refunded} was refunded for ${transactionId}, which charged ${amount}`);
    this.#refunds.delete(transactionId);
    if (keyId === null || posting.day === null) {
      say("I4", `the charge ${transactionId} belongs to no key or no day`);
      return;
    }
    const expected = this.#linkOfKey.get(keyId);
    if (expected !== undefined && expected !== number) say("I6", `${transactionId} is missing from its key's list`);
    this.#linkOfKey.set(keyId, posting.beforeOfKey);
    const day = (scope: string) => `${storedScope(posting.accountId, scope)} ${posting.day}`;
    this.#addToDay(day(keyScope(keyId)), posting);
    if (posting.inference) this.#addToDay(day(INFERENCE_SCOPE), posting);
    const { charged, costs } = windowList(posting.windows ?? "");
    for (const { scope } of charged) this.#addToDay(day(scope), posting);
    for (const window of costs) {
      const cost = Math.max(0, costIn(window, posting.amountNano, posting.upstreamNano));
      this.#costs.set(day(window.scope), (this.#costs.get(day(window.scope)) ?? 0) + cost);
    }
  }

  /** I15: where calls that were not charged have left no posting, the sum is more than the postings say, and never less. */
  #endCosts(dayRow: (day: string) => DaySums, say: Say): void {
    for (const [day, least] of this.#costs) {
      const { spent } = this.#dayRows.get(day) ?? dayRow(day);
      if (spent < least) say("I15", `${day} says ${spent}, its postings alone add up to ${least}`);
    }
  }

  #addToDay(day: string, { amountNano, absorbedNano }: ExaminedPosting): void {
    const { spent, absorbed } = this.#daySums.get(day) ?? NOTHING;
    this.#daySums.set(day, { spent: spent + amountNano, absorbed: absorbed + absorbedNano });
  }

  /** I1, I4, I7, I9. */
  end(dayRow: (day: string) => DaySums, say: Say): void {
    const { granted, spent, absorbed } = this.#expected;
    const { charged, credited, cents, shortfall } = this.#sums;
    const spentCents = centsUp(spent as Nano);
    if (spent !== charged) say("I1", `spent is ${spent}, its charges add up to ${charged}`);
    if (granted !== credited) say("I1", `granted is ${granted}, its top-ups and refunds add up to ${credited}`);
    if (cents !== spentCents) say("I7", `charged cents add up to ${cents}, what is spent is ${spentCents}`);
    if (absorbed !== shortfall) say("I9", `absorbed is ${absorbed}, its postings' shortfalls add up to ${shortfall}`);
    for (const charge of this.#refunds.keys()) say("I9", `${charge} was refunded and never charged`);
    this.#endCosts(dayRow, say);
    for (const day of new Set([...this.#dayRows.keys(), ...this.#daySums.keys()])) {
      const [row, sum] = [this.#dayRows.get(day) ?? dayRow(day), this.#daySums.get(day) ?? NOTHING];
      for (const what of ["spent", "absorbed"] as const) {
        if (row[what] !== sum[what])
          say("I4", `${day} says ${row[what]} is ${what}, its postings add up to ${sum[what]}`);
      }
    }
  }
}

function prepare(database: DatabaseSync) {
  return {
    brought: database.prepare("SELECT scope, day, spent, absorbed FROM spent_day WHERE scope > ? AND scope < ?"),
    counts: database.prepare(
      "SELECT (SELECT COALESCE(MAX(seq), 0) FROM posting) AS last, (SELECT COUNT(*) FROM hold) AS holds",
    ),
    countPostings: database.prepare("SELECT COUNT(*) AS postings FROM posting WHERE seq <= ?"),
    quickCheck: database.prepare("PRAGMA quick_check"),
    account: database.prepare("SELECT granted, spent, absorbed, clock FROM account WHERE account_id = ?"),
    days: database.prepare("SELECT day, spent, absorbed FROM spent_day WHERE scope = ?"),
    day: database.prepare("SELECT spent, absorbed FROM spent_day WHERE scope = ? AND day = ?"),
    idempotency: database.prepare(
      `SELECT 'the idempotency key of ' || hold_id || ' is ' || state || ', its hold is ' || end AS detail FROM (
         SELECT i.hold_id, i.state,
           CASE WHEN h.hold_id IS NOT NULL THEN 'held' WHEN p.seq IS NOT NULL THEN 'posted'
             ELSE COALESCE(t.state, 'forgotten') END AS end
           FROM idempotency i LEFT JOIN hold h USING (hold_id) LEFT JOIN tombstone t USING (hold_id)
             LEFT JOIN posting p ON p.transaction_id = i.hold_id AND p.account_id = i.account_id
           WHERE i.account_id = ?)
         WHERE NOT CASE WHEN state IN ('held', 'posted') THEN end = state
           WHEN state = 'expired' THEN end IN ('expired', 'voided', 'forgotten') -- a void may come when the end is forgotten
           WHEN state IN ('voided', 'answered', 'unknown') THEN end IN ('voided', 'forgotten')
           ELSE FALSE END`,
    ),
  };
}
