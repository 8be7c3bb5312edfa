// The ledger in its storage thread: its tables, and its operations by name.
import type { DatabaseSync } from "node:sqlite";
import type { AccountRow, KeyRow, PostingQuery } from "../../../core/account-rows.ts";
import { nano } from "../../../core/money.ts";
import { migrate, type SqliteUnit, type StoreTime } from "../../../platform/storage/sqlite-unit.ts";
import type { LedgerTotals } from "../model/ledger.ts";
import { keyScope } from "../model/state.ts";
import { dayOf } from "../model/windows.ts";
import { AccountTables } from "./accounts.ts";
import * as admin from "./admin.ts";
import { type PostList, postOf, type ReserveList, reserveOf } from "./compact.ts";
import { Doctor, type ExaminedMemory } from "./doctor.ts";
import { EntryTables } from "./entries.ts";
import { extend, placeDecided, reserve, standing, staysInMemory } from "./reserve.ts";
import { LEDGER_SCHEMA } from "./schema.ts";
import { abandon, letGo, post, prune, renew, sweep, voidHold } from "./settle.ts";
import { snapshotOf } from "./snapshot.ts";
import { LedgerState } from "./state.ts";

/** The ledger's operations, as the event loop calls them. */
export type LedgerOperations = ReturnType<typeof operationsOn> & ReturnType<typeof examination>;

/** Accounts, or groups of holds, that the doctor examines at once; takes some hundreds of microseconds. */
const DOCTOR_STEPS = 12;

export const schemaVersion = LEDGER_SCHEMA.length;

/** Opens the ledger in the storage thread's database. */
export function openUnit(database: DatabaseSync, time: StoreTime): SqliteUnit {
  migrate(database, "ledger", LEDGER_SCHEMA);
  const accounts = new AccountTables(database);
  const state = new LedgerState(accounts, new EntryTables(database), time);
  return {
    operations: { ...operationsOn(state), ...examination(state, new Doctor(database, state)) },
    admissions: ["reserve", "openAccount", "createKey"],
    unwritten: {
      reserve: ([[accountId, , keyId], [onExpire, , , , , idempotency, unwritten, isNew]]: ReserveList) =>
        staysInMemory(state, { accountId, keyId, onExpire, idempotency, unwritten, isNew }),
      place: () => true,
      standing: () => true,
      renew: () => true,
    },
    short: ["reserve", "place", "standing", "extend", "post", "void"],
    flush: () => state.flush(),
    isBehind: () => state.isBehind,
    catchUp: () => state.catchUp(),
    committed: (tell) => state.committed(tell),
    reload: () => state.reload(),
  };
}

function operationsOn(state: LedgerState) {
  const bind =
    <Argument, Answer>(run: (state: LedgerState, argument: Argument) => Answer) =>
    (argument: Argument): Answer =>
      run(state, argument);
  return {
    openAccount: bind(admin.openAccount),
    account: ([accountId]: admin.Args<"account">): AccountRow | null => {
      const account = state.accounts.account(accountId);
      return account === null ? null : admin.accountRow(account);
    },
    accounts: bind(admin.accountRows),
    patchAccount: bind(admin.patchAccount),
    createKey: bind(admin.createKey),
    keyByHash: ([secretHash]: admin.Args<"keyByHash">): KeyRow | null => {
      const key = state.accounts.key(secretHash);
      return key === null ? null : admin.keyRow(state, key);
    },
    key: bind(admin.oneKey),
    keys: bind(admin.keyRows),
    patchKey: bind(admin.patchKey),
    secretHash: bind(admin.secretHash),
    rotateKey: bind(admin.rotateKey),
    deleteKey: bind(admin.deleteKey),
    reserve: (list: ReserveList) => reserve(state, reserveOf(list)),
    place: ([list, atMs, elapsedMs]: readonly [ReserveList, number, number]) =>
      placeDecided(state, reserveOf(list), { atMs, elapsedMs }),
    load: bind(snapshotOf),
    extend: bind(extend),
    standing: bind(standing),
    renew: bind(renew),
    letGo: bind(letGo),
    post: (list: PostList) => post(state, postOf(list)),
    void: bind(voidHold),
    sweep: bind(sweep),
    prune: (_: null) => prune(state),
    abandon: bind(abandon),
    topUp: bind(admin.topUp),
    refund: bind(admin.refund),
    transaction: ([accountId, transactionId]: admin.Args<"transaction">) => {
      const posting = state.entries.posting(transactionId);
      return posting !== null && (accountId === null || posting.accountId === accountId) ? posting : null;
    },
    transactions: ([query]: admin.Args<"transactions">) => listTransactions(state, query),
    spentToday: bind(admin.spentToday),
    periodSums: bind(admin.periodSums),
    events: ([countMax]: admin.Args<"events">) => state.entries.events.told(countMax),
    dropEvents: (ids: readonly string[]) => state.entries.events.drop(ids),
    /** Before reports, which another thread reads from the file. */
    catchUp: (_: null) => state.catchUp(),
    totals: (_: admin.Args<"totals">): LedgerTotals => {
      let [held, play] = [0, 0];
      for (const { amount, account } of state.holds.values()) {
        held += amount;
        if (account.kind === "sandbox") play += amount;
      }
      const { playNano, ...totals } = state.entries.totals();
      const sandbox = { heldNano: nano(play), spentNano: playNano };
      return { ...totals, holdsOpen: state.holds.size, heldNano: nano(held), play: sandbox };
    },
  };
}

/** A page of an account's or a key's postings; the cursor is the number of the next posting. */
export function listTransactions(state: LedgerState, { accountId, keyId, limit, cursor }: PostingQuery) {
  const account = state.accounts.account(accountId);
  if (account === null) return { rows: [], next: null };
  const newest = () =>
    keyId === null
      ? account.lastPosting
      : state.accounts.lastPosting(
          state.accounts.lookScope(account, keyScope(keyId), dayOf(state.accountNow(account))),
        );
  const from = cursor === null ? newest() : Number(cursor);
  return state.entries.list({ accountId, keyId }, Number.isSafeInteger(from) ? from : null, limit);
}

/** The doctor's check of memory, a few steps per call; `begin` starts a new one. */
function examination(state: LedgerState, doctor: Doctor) {
  let seen: ExaminedMemory = { holds: 0, findings: [] };
  let visit: Generator<null> | null = null;
  return {
    examine({ begin }: { begin: boolean }): { done: boolean; seen: ExaminedMemory } {
      // Rows are compared with memory.
      state.catchUp();
      if (begin || visit === null) {
        seen = { holds: 0, findings: [] };
        visit = doctor.examine(seen);
      }
      for (let step = 0; step < DOCTOR_STEPS; step++) if (visit.next().done) return { done: true, seen };
      return { done: false, seen: { ...seen, findings: [] } };
    },
  };
}
