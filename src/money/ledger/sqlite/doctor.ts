// The doctor's check of the storage thread's memory: against its rows, and live holds against the sums that they are part of. The reading
// thread checks what is only in the file (books-doctor.ts).
import type { DatabaseSync } from "node:sqlite";
import type { Finding } from "../model/ledger.ts";
import type { Say } from "../model/posting-sums.ts";
import type { AccountState, LiveHold } from "../model/state.ts";
import type { LedgerState } from "./state.ts";

/** A hold should be swept at most this long after its lease ends. */
const SWEPT_WITHIN_MS = 60_000;
/** Holds looked up per step. */
const HOLDS_PER_STEP = 8;

/** The findings so far. The doctor pauses now and then. */
export interface ExaminedMemory {
  holds: number;
  readonly findings: Finding[];
}

export class Doctor {
  readonly #sql: ReturnType<typeof prepare>;
  readonly #state: LedgerState;

  constructor(database: DatabaseSync, state: LedgerState) {
    this.#sql = prepare(database);
    this.#state = state;
  }

  /** Examines all state in memory; yields every few tens of microseconds. */
  *examine(seen: ExaminedMemory): Generator<null> {
    const { holds: stored } = this.#sql.holds.get() as unknown as { holds: number };
    let live = 0;
    for (const { written } of this.#state.holds.values()) if (written) live += 1;
    if (stored !== live) {
      const detail = `${stored} holds are stored, ${live} with a row are live in memory`;
      seen.findings.push({ invariant: "I2", accountId: null, detail });
    }
    for (const accountId of this.#state.accounts.idsInMemory()) {
      const account = this.#state.accounts.inMemory(accountId);
      if (account === null) continue;
      const say: Say = (invariant, detail) => seen.findings.push({ invariant, accountId, detail });
      this.#account(account, say);
      this.#sums(account, say);
      for (const [at, hold] of [...account.holds].entries()) {
        if (at % HOLDS_PER_STEP === HOLDS_PER_STEP - 1) yield null;
        // The hold may have ended or been reloaded since.
        if (this.#state.holds.get(hold.holdId) !== hold) continue;
        seen.holds += 1;
        this.#hold(hold, say);
      }
      yield null;
    }
  }

  /** I1, I3, I12: the account in memory against its row. */
  #account(account: AccountState, say: Say): void {
    const { granted, spent, absorbed, held, clockMs } = account;
    const row = this.#sql.account.get(account.accountId) as unknown as Record<string, number> | undefined;
    for (const [name, value] of Object.entries({ granted, spent, absorbed })) {
      if (row?.[name] !== value) say("I1", `${name} is ${value} in memory, ${row?.[name]} in the account's row`);
    }
    if (held > 0 && spent + held > granted) say("I3", `spent ${spent} and held ${held} exceed the granted ${granted}`);
    if (clockMs < (row?.clock ?? 0)) say("I12", `the clock fell from ${row?.clock} to ${clockMs}`);
  }

  /** I2, I6, I8: a live hold in memory and in its table. */
  #hold({ holdId, written, amount, leaseEndsElapsedMs }: LiveHold, say: Say): void {
    const row = this.#state.entries.holdRow(holdId);
    if (written ? row?.amount !== amount : row !== null)
      say("I2", `${holdId} holds ${amount} in memory, ${row?.amount ?? "nothing"} in its row`);
    const end = this.#state.entries.endOf(holdId);
    if (end !== null) say("I6", `${holdId} is live and ${end}`);
    const overdueMs = Math.round(this.#state.elapsedMs() - leaseEndsElapsedMs);
    if (overdueMs > SWEPT_WITHIN_MS) say("I8", `the lease of ${holdId} ended ${overdueMs} ms ago`);
  }

  /** I2, I4: live holds against the account's sums, days and slots. */
  #sums(account: AccountState, say: Say): void {
    const sums = new Map<string, number>();
    const count = (name: string, by: number) => sums.set(name, (sums.get(name) ?? 0) + by);
    for (const { amount, days, slots } of account.holds) {
      count("account", amount);
      for (const { of, day } of days) count(`${of.name} ${day}`, amount);
      for (const scope of slots) count(`slot ${scope}`, 1);
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

function prepare(database: DatabaseSync) {
  return {
    holds: database.prepare("SELECT COUNT(*) AS holds FROM hold"),
    account: database.prepare("SELECT granted, spent, absorbed, clock FROM account WHERE account_id = ?"),
  };
}
