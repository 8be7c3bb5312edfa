// The doctor's check of the file, account by account, on the reading thread: no call waits for it. Postings never change, so they are read
// after the sums.
import type { DatabaseSync } from "node:sqlite";
import { GRANTED_NANO_MAX } from "../../../core/money.ts";
import { POSTING_FIELDS } from "../model/fields.ts";
import type { Finding } from "../model/ledger.ts";
import { legsIn } from "../model/legs.ts";
import { type CheckedPosting, type DaySums, PostingWalk, type Say } from "../model/posting-sums.ts";
import { broughtScopes, INFERENCE_SCOPE, keyScope, storedScope } from "../model/state.ts";
import { countsOf } from "../model/window-list.ts";
import type { PostingPlace } from "./entries.ts";

/** Rows read per answer, about ten milliseconds; reports run in between. */
const ROWS_AT_ONCE = 2_000;
/** An account with its row and keys costs about as much as this many rows, without its days. */
const ROWS_OF_ACCOUNT = 10;
/** Postings read at once. */
const POSTINGS_PER_STEP = 500;

/** The findings so far. */
export interface ExaminedBooks {
  accounts: number;
  postings: number;
  readonly findings: Finding[];
}

interface StoredAccount {
  readonly accountId: string;
  readonly granted: number;
  readonly spent: number;
  readonly absorbed: number;
  readonly clock: number;
  readonly lastPosting: number | null;
}

interface DayRow extends DaySums {
  /** The number of its last posting. */
  readonly last: number | null;
}

type Row = Readonly<Record<string, string | number | null>>;

function sumsOf(row: Row): DaySums {
  return { spent: Number(row.spent), absorbed: Number(row.absorbed) };
}

const EXAMINED = [
  ...(["transactionId", "kind", "accountId", "keyId", "createdAtMs", "amountNano", "chargedCents"] as const),
  ...(["upstreamNano", "absorbedNano", "reference", "day", "windows", "legs", "inference"] as const),
];
type ExaminedPosting = CheckedPosting &
  Pick<PostingPlace, "beforeOfAccount" | "beforeOfKey"> & { readonly accountId: string };

/** Reads a posting by its number. */
function examinedPostings(database: DatabaseSync): (number: number) => ExaminedPosting | null {
  const columns = EXAMINED.map((field) => POSTING_FIELDS[field].column);
  const statement = database.prepare(
    `SELECT ${columns.join(", ")}, before_of_account, before_of_key FROM posting WHERE seq = ?`,
  );
  // Rows as arrays: with column names a posting takes 10 us to read, without 6.
  statement.setReturnArrays(true);
  return (number) => {
    const row = statement.get(number) as unknown as readonly (string | number | null)[] | undefined;
    if (row === undefined) return null;
    const posting: Record<string, unknown> = {};
    for (const [at, field] of EXAMINED.entries()) posting[field] = row[at];
    posting.legs = legsIn(posting.legs as string | null);
    posting.inference = posting.inference === 1;
    [posting.beforeOfAccount, posting.beforeOfKey] = row.slice(EXAMINED.length);
    return posting as unknown as ExaminedPosting;
  };
}

/** Reads a few thousand rows per call; `begin` starts a new check. With `file`, also checks the file's structure. */
export function openInquiry(database: DatabaseSync) {
  let seen: ExaminedBooks = { accounts: 0, postings: 0, findings: [] };
  let visit: Generator<number> | null = null;
  return ({ begin, file }: { begin: boolean; file: boolean }): { done: boolean; seen: ExaminedBooks } => {
    if (begin || visit === null) {
      seen = { accounts: 0, postings: 0, findings: [] };
      visit = new BooksDoctor(database, seen).examine(file);
    }
    for (let rows = 0; rows < ROWS_AT_ONCE; ) {
      const step = visit.next();
      if (step.done) return { done: true, seen };
      rows += step.value;
    }
    return { done: false, seen: { ...seen, findings: [] } };
  };
}

class BooksDoctor {
  readonly #database: DatabaseSync;
  readonly #sql: ReturnType<typeof prepare>;
  readonly #posting: ReturnType<typeof examinedPostings>;
  readonly #seen: ExaminedBooks;

  constructor(database: DatabaseSync, seen: ExaminedBooks) {
    this.#database = database;
    this.#sql = prepare(database);
    this.#posting = examinedPostings(database);
    this.#seen = seen;
  }

  /** Yields where other work may run, with the count of rows read since. */
  *examine(file: boolean): Generator<number> {
    const { findings } = this.#seen;
    const last = Number(this.#sql.lastPosting.get()?.last);
    const sayOfAll: Say = (invariant, detail) => findings.push({ invariant, accountId: null, detail });
    if (file) this.#file(sayOfAll);
    let reached = 0;
    for (let found = this.#accountAfter(""); found !== null; found = this.#accountAfter(found.account.accountId)) {
      const { account, days } = found;
      const { accountId } = account;
      const say: Say = (invariant, detail) => findings.push({ invariant, accountId, detail });
      this.#seen.accounts += 1;
      this.#account(account, say);
      const walk = new PostingWalk((scope, day) => `${storedScope(accountId, scope)} ${day}`, account.clock, say);
      /** The expected number of each key's next posting. */
      const links = new Map<string, number | null>();
      for (let next = account.lastPosting; next !== null; ) {
        const posting = this.#posting(next);
        if (posting?.accountId !== accountId) {
          say("I1", `posting ${next} is missing from the account's list`);
          break;
        }
        if (next <= last) reached += 1;
        walk.take(posting);
        if (posting.keyId !== null) {
          const link = links.get(posting.keyId);
          if (link !== undefined && link !== next) say("I6", `${posting.transactionId} is missing from its key's list`);
          links.set(posting.keyId, posting.beforeOfKey);
        }
        next = posting.beforeOfAccount;
        if (walk.count % POSTINGS_PER_STEP === 0) yield POSTINGS_PER_STEP;
      }
      this.#seen.postings += walk.count;
      walk.end(account, days.keys(), (day) => days.get(day) ?? this.#dayRow(day, account));
      yield (walk.count % POSTINGS_PER_STEP) + ROWS_OF_ACCOUNT + days.size;
    }
    if (reached !== last) this.#countPostings(last, reached, sayOfAll);
  }

  /** Posting numbers are consecutive: count them only where the last one shows a gap. */
  #countPostings(last: number, reached: number, say: Say): void {
    const postings = this.#sql.countPostings.get(last)?.postings;
    if (reached !== postings) say("I1", `${postings} postings are stored, ${reached} are in accounts' lists`);
  }

  #file(say: Say): void {
    for (const { quick_check: detail } of this.#sql.quickCheck.all()) {
      if (detail !== "ok") say("file", String(detail));
    }
  }

  /** Reads the next account and its days in one snapshot between commits. Reads no postings in it, so that it ends quickly. */
  #accountAfter(accountId: string) {
    this.#database.exec("BEGIN");
    try {
      const account = this.#sql.account.get(accountId) as unknown as StoredAccount | undefined;
      return account === undefined ? null : { account, days: this.#days(account.accountId) };
    } finally {
      this.#database.exec("COMMIT");
    }
  }

  #days(accountId: string): Map<string, DaySums> {
    const names = this.#sql.keys.all(accountId).map((row) => keyScope(String(row.key_id)));
    const days = new Map<string, DaySums>();
    for (const name of [storedScope(accountId, INFERENCE_SCOPE), ...names]) {
      for (const row of this.#sql.days.all(name)) days.set(`${name} ${row.day}`, sumsOf(row as Row));
    }
    const brought = broughtScopes(accountId);
    for (const row of this.#sql.brought.all(brought, `${brought.slice(0, -1)};`)) {
      if (countsOf(String(row.scope).slice(brought.length)) === "charge")
        days.set(`${row.scope} ${row.day}`, sumsOf(row as Row));
    }
    return days;
  }

  /** A day of a deleted key, as it was when the account was read: its last calls may have ended since. */
  #dayRow(name: string, account: StoredAccount): DaySums {
    const at = name.lastIndexOf(" ");
    const day = Number(name.slice(at + 1));
    const row = this.#sql.day.get(name.slice(0, at), day) as unknown as DayRow | undefined;
    if (row === undefined) return { spent: 0, absorbed: 0 };
    let { spent, absorbed } = row;
    for (let next = row.last; next !== null && next > (account.lastPosting ?? 0); ) {
      const posting = this.#posting(next);
      if (posting?.day === day) {
        spent -= posting.amountNano;
        absorbed -= posting.absorbedNano;
      }
      next = posting?.beforeOfKey ?? null;
    }
    return { spent, absorbed };
  }

  /** I3, I6: the account's row, and its idempotency keys against its holds. */
  #account({ accountId, granted, spent }: StoredAccount, say: Say): void {
    if (spent > granted) say("I3", `spent ${spent} exceeds the granted ${granted}`);
    if (granted > GRANTED_NANO_MAX) say("I3", `granted ${granted} is more than can be counted exactly`);
    for (const { detail } of this.#sql.idempotency.all(accountId)) say("I6", String(detail));
  }
}

function prepare(database: DatabaseSync) {
  return {
    lastPosting: database.prepare("SELECT last FROM counted"),
    countPostings: database.prepare("SELECT COUNT(*) AS postings FROM posting WHERE seq <= ?"),
    quickCheck: database.prepare("PRAGMA quick_check"),
    account: database.prepare(
      `SELECT account_id AS accountId, granted, spent, absorbed, clock, last_posting AS lastPosting
         FROM account WHERE account_id > ? ORDER BY account_id LIMIT 1`,
    ),
    keys: database.prepare("SELECT key_id FROM api_key WHERE account_id = ?"),
    days: database.prepare("SELECT day, spent, absorbed FROM spent_day WHERE scope = ?"),
    brought: database.prepare("SELECT scope, day, spent, absorbed FROM spent_day WHERE scope > ? AND scope < ?"),
    day: database.prepare("SELECT spent, absorbed, last_posting AS last FROM spent_day WHERE scope = ? AND day = ?"),
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
