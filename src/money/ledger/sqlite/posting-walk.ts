// The doctor's walk along an account's postings: what it reads of each, and the sums they must match.
import type { DatabaseSync } from "node:sqlite";
import type { PostingRow } from "../../../core/account-rows.ts";
import { centsUp, type Nano } from "../../../core/money.ts";
import { countedIn } from "../model/counted.ts";
import { legsFault, legsIn } from "../model/legs.ts";
import { storedScope } from "../model/state.ts";
import type { PostingPlace } from "./entries.ts";

/** Reports a finding. */
export type Say = (invariant: string, detail: string) => void;

/** An account's row. */
export interface StoredAccount {
  readonly accountId: string;
  readonly granted: number;
  readonly spent: number;
  readonly absorbed: number;
  readonly clock: number;
  readonly lastPosting: number | null;
}

/** A scope's sums of a day, stored or added up from its postings. */
export interface DaySums {
  readonly spent: number;
  readonly absorbed: number;
}

export const NOTHING: DaySums = { spent: 0, absorbed: 0 };

/** The columns that the doctor reads: with millions of postings, each one costs. */
export type ExaminedPosting = PostingPlace &
  Pick<PostingRow, "transactionId" | "kind" | "accountId" | "keyId" | "createdAtMs" | "reference" | "legs"> &
  Pick<PostingRow, "amountNano" | "chargedCents" | "upstreamNano" | "absorbedNano">;

type ExaminedSql = readonly [
  transactionId: string,
  kind: PostingRow["kind"],
  accountId: string,
  keyId: string | null,
  createdAtMs: number,
  amount: Nano,
  chargedCents: number,
  upstream: Nano,
  absorbed: Nano,
  reference: string | null,
  legs: string | null,
  day: number | null,
  inference: number,
  beforeOfAccount: number | null,
  beforeOfKey: number | null,
  windows: string | null,
];

/** Reads a posting by its number. */
export function examinedPostings(database: DatabaseSync): (number: number) => ExaminedPosting | null {
  const statement = database.prepare(
    `SELECT transaction_id, kind, account_id, key_id, created_at, amount, charged_cents, upstream, absorbed, reference, legs,
       day, inference, before_of_account, before_of_key, windows FROM posting WHERE seq = ?`,
  );
  // Rows as arrays: with column names a posting takes 10 us to read, without 6.
  statement.setReturnArrays(true);
  return (number) => {
    const row = statement.get(number) as unknown as ExaminedSql | undefined;
    if (row === undefined) return null;
    return {
      transactionId: row[0],
      kind: row[1],
      accountId: row[2],
      keyId: row[3],
      createdAtMs: row[4],
      amountNano: row[5],
      chargedCents: row[6],
      upstreamNano: row[7],
      absorbedNano: row[8],
      reference: row[9],
      legs: legsIn(row[10]),
      day: row[11],
      inference: row[12] === 1,
      beforeOfAccount: row[13],
      beforeOfKey: row[14],
      windows: row[15],
    };
  };
}

/** Adds up an account's postings, newest first, and compares the sums with the account. */
export class PostingWalk {
  count = 0;
  readonly #sums = { charged: 0, credited: 0, cents: 0, shortfall: 0 };
  readonly #expected: { granted: number; spent: number; absorbed: number };
  readonly #dayRows: Map<string, DaySums>;
  readonly #daySums = new Map<string, DaySums>();
  /** The least that days of cost must have. */
  readonly #costs = new Map<string, number>();
  /** Refunds whose charge has not appeared yet; it is older, so it must follow. */
  readonly #refunds = new Map<string, number>();
  /** The expected number of each key's next posting. */
  readonly #linkOfKey = new Map<string, number | null>();
  #laterMs: number;

  constructor({ granted, spent, absorbed, clock }: StoredAccount, dayRows: Map<string, DaySums>) {
    this.#expected = { granted, spent, absorbed };
    this.#dayRows = dayRows;
    this.#laterMs = clock;
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
    for (const { scope, day, spent, absorbed, isCost } of countedIn(posting)) {
      const name = `${storedScope(posting.accountId, scope)} ${day}`;
      if (isCost) this.#costs.set(name, (this.#costs.get(name) ?? 0) + spent);
      else {
        const before = this.#daySums.get(name) ?? NOTHING;
        this.#daySums.set(name, { spent: before.spent + spent, absorbed: before.absorbed + absorbed });
      }
    }
  }

  /** I15: uncharged calls leave no posting, so the sum may exceed the postings' cost, and never falls below it. */
  #endCosts(dayRow: (day: string) => DaySums, say: Say): void {
    for (const [day, least] of this.#costs) {
      const { spent } = this.#dayRows.get(day) ?? dayRow(day);
      if (spent < least) say("I15", `${day} says ${spent}, its postings alone add up to ${least}`);
    }
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
