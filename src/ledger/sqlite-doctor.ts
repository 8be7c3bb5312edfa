// Checks every invariant of the ledger, account by account: the rows against each other, and memory against the rows.
import type { DatabaseSync } from "node:sqlite";
import { centsUp, GRANTED_NANO_MAX, type Nano } from "../money.ts";
import type { Finding } from "./ledger.ts";
import type { LedgerState } from "./sqlite-state.ts";
import type { AccountState } from "./state.ts";

/** A live hold whose lease ended this long ago should have been swept. */
const SWEPT_WITHIN_MS = 60_000;

/** What one call examined; `next` is the account to go on after, null at the end. */
export interface DoctorSlice {
  readonly accounts: number;
  readonly holds: number;
  readonly postings: number;
  readonly findings: readonly Finding[];
  readonly next: string | null;
}

type Sums = Readonly<Record<string, number>>;
type Say = (invariant: string, detail: string) => void;

/** A doctor examines a few accounts at a time, so that calls go on between. Start with `after` of an empty string. */
export function createDoctor(database: DatabaseSync) {
  const sql = prepare(database);
  return (state: LedgerState, { after, count }: { after: string; count: number }): DoctorSlice => {
    const ids = sql.ids.all(after, count).map((row) => String(row.account_id));
    const findings: Finding[] = [];
    if (after === "") findings.push(...wholeFindings(sql));
    let holds = 0;
    let postings = 0;
    for (const accountId of ids) {
      const say: Say = (invariant, detail) => findings.push({ invariant, accountId, detail });
      const sums = sql.sums.get(accountId, accountId, accountId) as Sums;
      const account = state.accounts.account(accountId);
      holds += sums.holds ?? 0;
      postings += sums.postings ?? 0;
      checkSums(sums, say);
      for (const [invariant, statement] of sql.rowChecks) {
        for (const row of statement.all(accountId)) say(invariant, String(row.detail));
      }
      if (account !== null) checkMemory(state, account, sums, say);
    }
    return { accounts: ids.length, holds, postings, findings, next: ids.length < count ? null : (ids.at(-1) ?? null) };
  };
}

/** I1, I3, I7, I9: the account's own numbers against its postings and holds. */
function checkSums(sums: Sums, say: Say): void {
  const { granted = 0, spent = 0, absorbed = 0, held = 0, charged = 0, credited = 0, cents = 0, shortfall = 0 } = sums;
  if (spent !== charged) say("I1", `spent is ${spent}, its charges add up to ${charged}`);
  if (granted !== credited) say("I1", `granted is ${granted}, its top-ups and refunds add up to ${credited}`);
  if (spent + held > granted) say("I3", `spent ${spent} and held ${held} exceed the granted ${granted}`);
  if (granted > GRANTED_NANO_MAX) say("I3", `granted ${granted} is more than can be counted exactly`);
  if (cents !== centsUp(spent as Nano))
    say("I7", `charged cents are ${cents}, spent ${spent} is ${centsUp(spent as Nano)}`);
  if (absorbed !== shortfall) say("I9", `absorbed is ${absorbed}, its postings' shortfalls add up to ${shortfall}`);
}

/** I2, I4, I8: what is in memory against the rows. */
function checkMemory(state: LedgerState, account: AccountState, sums: Sums, say: Say): void {
  if (account.held !== sums.held) say("I2", `memory holds ${account.held}, its live holds add up to ${sums.held}`);
  if (account.spent !== sums.spent) say("I1", `memory has spent ${account.spent}, the account's row ${sums.spent}`);
  const held = new Map<string, number>();
  const slots = new Map<string, number>();
  for (const hold of state.holds.values()) {
    if (hold.account !== account) continue;
    for (const { scope, day } of hold.days)
      held.set(`${scope} ${day}`, (held.get(`${scope} ${day}`) ?? 0) + hold.amount);
    for (const scope of hold.slots) slots.set(scope, (slots.get(scope) ?? 0) + 1);
    const overdueMs = state.elapsedMs() - hold.leaseEndsElapsedMs;
    if (overdueMs > SWEPT_WITHIN_MS) say("I8", `the lease of ${hold.holdId} ended ${overdueMs} ms ago`);
  }
  for (const scope of account.scopes.values()) {
    for (const day of scope.days.values()) {
      const sum = held.get(`${day.scope} ${day.day}`) ?? 0;
      if (day.held !== sum) say("I4", `${day.scope} holds ${day.held} of day ${day.day}, its live holds ${sum}`);
    }
  }
  for (const scope of new Set([...slots.keys(), ...account.slots.keys()])) {
    const [taken, live] = [account.slots.get(scope) ?? 0, slots.get(scope) ?? 0];
    if (taken !== live) say("I2", `${taken} slots of ${scope} are taken, ${live} live holds have one`);
  }
}

/** The file itself, and rows that belong to no account. */
function wholeFindings(sql: ReturnType<typeof prepare>): Finding[] {
  const findings: Finding[] = [];
  for (const row of sql.quickCheck.all()) {
    if (row.quick_check !== "ok")
      findings.push({ invariant: "file", accountId: null, detail: String(row.quick_check) });
  }
  for (const row of sql.strays.all()) findings.push({ invariant: "I1", accountId: null, detail: String(row.detail) });
  return findings;
}

/** Each answers one row per breach, with the numbers in `detail`; the account's id is its only parameter. */
const ROW_CHECKS: readonly (readonly [invariant: string, sql: string])[] = [
  [
    "I4",
    `WITH counted AS (
       SELECT 'key:' || key_id AS scope, day, amount FROM posting WHERE account_id = ?1 AND kind = 'charge'
       UNION ALL
       SELECT 'inference:' || account_id, day, amount FROM posting WHERE account_id = ?1 AND kind = 'charge' AND inference),
     sums AS (SELECT scope, day, SUM(amount) AS total FROM counted GROUP BY scope, day),
     scopes AS (SELECT DISTINCT scope FROM sums UNION SELECT 'inference:' || ?1
       UNION SELECT 'key:' || key_id FROM api_key WHERE account_id = ?1)
     SELECT scope || ' has spent ' || spent || ' of day ' || day || ', its postings add up to ' || total AS detail FROM (
       SELECT scope, day, COALESCE(spent, 0) AS spent, COALESCE(total, 0) AS total
         FROM (SELECT * FROM spent_day WHERE scope IN (SELECT scope FROM scopes)) FULL JOIN sums USING (scope, day))
     WHERE spent <> total`,
  ],
  [
    "I6",
    `SELECT hold_id || ' is live and posted' AS detail FROM hold JOIN posting ON transaction_id = hold_id
       WHERE hold.account_id = ?1
     UNION ALL SELECT hold_id || ' is live and ' || state FROM hold JOIN tombstone USING (hold_id) WHERE hold.account_id = ?1
     UNION ALL SELECT hold_id || ' is posted and ' || state FROM posting JOIN tombstone ON hold_id = transaction_id
       WHERE posting.account_id = ?1`,
  ],
  [
    "I6",
    `SELECT 'idempotency key of ' || i.hold_id || ' is ' || i.state || ', its hold is '
         || CASE WHEN h.hold_id IS NULL THEN 'not ' ELSE '' END || 'live' AS detail
       FROM idempotency i LEFT JOIN hold h USING (hold_id)
       WHERE i.account_id = ?1 AND (i.state = 'held') <> (h.hold_id IS NOT NULL)`,
  ],
  [
    "I9",
    `SELECT r.transaction_id || ' refunds ' || r.amount || ' of ' || COALESCE(c.amount, 'no charge') AS detail
       FROM posting r LEFT JOIN posting c ON c.transaction_id = r.reference AND c.kind = 'charge' AND c.account_id = ?1
       WHERE r.account_id = ?1 AND r.kind = 'refund' AND r.amount IS NOT c.amount`,
  ],
  [
    "I12",
    `SELECT transaction_id || ' is of ' || posting.created_at || ', after the account''s clock ' || clock AS detail
       FROM posting JOIN account USING (account_id) WHERE account_id = ?1 AND posting.created_at > clock
     UNION ALL
     SELECT transaction_id || ' is of ' || created_at || ', before the posting that went ahead of it' FROM (
       SELECT transaction_id, created_at, LAG(created_at) OVER (ORDER BY seq) AS before
         FROM posting WHERE account_id = ?1)
     WHERE created_at < before`,
  ],
];

function prepare(database: DatabaseSync) {
  return {
    ids: database.prepare("SELECT account_id FROM account WHERE account_id > ? ORDER BY account_id LIMIT ?"),
    sums: database.prepare(
      `SELECT granted, spent, absorbed, h.*, p.* FROM account,
         (SELECT COUNT(*) AS holds, COALESCE(SUM(amount), 0) AS held FROM hold WHERE account_id = ?) h,
         (SELECT COUNT(*) AS postings,
            COALESCE(SUM(amount) FILTER (WHERE kind = 'charge'), 0) AS charged,
            COALESCE(SUM(amount) FILTER (WHERE kind <> 'charge'), 0) AS credited,
            COALESCE(SUM(charged_cents), 0) AS cents,
            COALESCE(SUM(absorbed), 0) AS shortfall
          FROM posting WHERE account_id = ?) p
       WHERE account_id = ?`,
    ),
    quickCheck: database.prepare("PRAGMA quick_check"),
    strays: database.prepare(
      `SELECT transaction_id || ' belongs to no account' AS detail FROM posting
         WHERE account_id NOT IN (SELECT account_id FROM account)`,
    ),
    rowChecks: ROW_CHECKS.map(([invariant, sql]) => [invariant, database.prepare(sql)] as const),
  };
}
